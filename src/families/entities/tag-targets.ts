import type { TargetOptions } from '../../engine/index.js';
import { type TensorData, volume } from '../../graph/index.js';
import { fillTargets } from '../cross-entropy.js';
import type { TaggedSentence } from './sequence-dataset.js';

/** What a linear layer over words or tokens learns: the tags, each with its weight. */

/** The weight of a batch without a labelled token. Its loss is 0, but weights are divided by. */
const MIN_WEIGHT = 1e-6;

interface LabelledToken {
  readonly row: number;
  readonly tag: number;
  /** How probable each tag is. Undefined: the tag is certain. [tags] */
  readonly shares: readonly number[] | undefined;
}

interface TargetShape {
  /** Those of the logits; the last is the number of tags. */
  readonly dims: readonly number[];
  readonly options: TargetOptions;
  readonly tagWeights: readonly number[];
}

/** A labelled token's targets sum to its share of the batch's weight; those of other tokens are 0. */
export function tagTargets(
  labelled: readonly LabelledToken[],
  { dims, options: { labelSmoothing, balanced }, tagWeights }: TargetShape,
): { readonly targets: TensorData; readonly weight: number } {
  const rows = labelled.map(({ row, tag, shares }) => {
    if (!balanced) return { row, id: tag, weight: 1, shares };
    const weighted = shares?.map((share, id) => share * (tagWeights[id] ?? 1));
    const weight = weighted?.reduce((sum, each) => sum + each, 0) ?? tagWeights[tag] ?? 1;
    return { row, id: tag, weight, shares: weighted?.map((each) => each / weight) };
  });
  const total = Math.max(
    MIN_WEIGHT,
    rows.reduce((sum, { weight }) => sum + weight, 0),
  );
  const data = new Float32Array(volume(dims));
  fillTargets(data, rows, { classes: dims.at(-1) ?? 0, total, labelSmoothing });
  return { targets: { type: 'float32', dims, data }, weight: total };
}

/** No tag counts more than this many times the mean, or rare tags would drown out the others. */
const LARGEST_WEIGHT = 10;

/** words / (tags · words so tagged): rare tags count as much as frequent ones. */
export function tagWeights(sentences: readonly TaggedSentence[], tags: number): number[] {
  const counts = new Array<number>(tags).fill(0);
  let words = 0;
  for (const sentence of sentences) {
    for (const tag of sentence.tags) counts[tag] = (counts[tag] ?? 0) + 1;
    words += sentence.tags.length;
  }
  return counts.map((count) => Math.min(LARGEST_WEIGHT, words / (tags * Math.max(1, count))));
}
