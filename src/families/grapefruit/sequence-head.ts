import type { RowHead, TargetOptions } from '../../engine/index.js';
import { type TensorData, volume } from '../../graph/index.js';
import type { TextWindow } from '../../text-reader/index.js';
import type { SequenceDataset } from './sequence-dataset.js';
import { tagWeights } from './tag-weights.js';
import { tokenEnd, tokenLogits, tokenLoss, tokenParameters } from './token-head.js';
import { firstPieces, sentencePlaces } from './word-pieces.js';

/** The weight of a batch without a labelled token. Its loss is 0, but weights are divided by. */
const MIN_WEIGHT = 1e-6;

/** Predicts a tag for the first piece of every word; its targets are the tags of the training sentences. */
export function sequenceHead({ tags, train }: SequenceDataset): RowHead {
  const places = train.map(({ words }) => sentencePlaces(words));
  const weights = tagWeights(train, tags.length);
  const labelled = (batch: readonly TextWindow[]) =>
    batch.map(({ row, encoding }) =>
      firstPieces(encoding, places[row] ?? []).map(({ word, token }) => ({
        token,
        tag: train[row]?.tags[word] ?? 0,
      })),
    );
  return {
    kind: 'rows',
    per: 'token',
    outputs: () => tags.length,
    parameters: (encoder) => tokenParameters(encoder, tags.length),
    logits: (graph, encoder, inputs, dropout) => tokenLogits(graph, encoder, inputs, tags.length, dropout),
    loss: tokenLoss,
    linearEnd: (encoder) =>
      tokenEnd(encoder, tags.length, (batch, options) => {
        const tokens = labelled(batch);
        const all = tokens.flat();
        const dims = [all.length, tags.length];
        const { targets } = tagTargets(
          all.map(({ tag }, row) => ({ row, tag })),
          { dims, options, tagWeights: weights },
        );
        return { places: tokens.map((text) => text.map(({ token }) => token)), feeds: { targets } };
      }),
    targets(batch, options) {
      const rows = labelled(batch).flatMap((text, at) =>
        text.map(({ token, tag }) => ({ row: token * batch.length + at, tag })),
      );
      const tokens = batch.reduce((longest, { encoding }) => Math.max(longest, encoding.ids.length), 0);
      const dims = [tokens, batch.length, tags.length];
      const { targets, weight } = tagTargets(rows, { dims, options, tagWeights: weights });
      return { feeds: { targets }, weight };
    },
  };
}

/** A row of the logits, and the tag that is right there. */
interface LabelledRow {
  readonly row: number;
  readonly tag: number;
}

interface TargetShape {
  /** Those of the logits; the last is the number of tags. */
  readonly dims: readonly number[];
  readonly options: TargetOptions;
  readonly tagWeights: readonly number[];
}

/** A labelled token's targets sum to its share of the batch's weight; those of other tokens are 0. */
function tagTargets(
  labelled: readonly LabelledRow[],
  { dims, options: { labelSmoothing, balanced }, tagWeights }: TargetShape,
): { readonly targets: TensorData; readonly weight: number } {
  const weightOf = (tag: number) => (balanced ? (tagWeights[tag] ?? 1) : 1);
  const total = Math.max(
    MIN_WEIGHT,
    labelled.reduce((sum, { tag }) => sum + weightOf(tag), 0),
  );
  const tags = dims.at(-1) ?? 0;
  const data = new Float32Array(volume(dims));
  for (const { row, tag } of labelled) {
    const at = row * tags;
    const share = weightOf(tag) / total;
    data.fill((share * labelSmoothing) / tags, at, at + tags);
    data[at + tag] = share * (1 - labelSmoothing + labelSmoothing / tags);
  }
  return { targets: { type: 'float32', dims, data }, weight: total };
}
