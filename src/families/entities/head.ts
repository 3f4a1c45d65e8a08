import type { Dropout, Encoder, EncoderInputs, ParameterSpec } from '../../encoder/index.js';
import type { LinearEnd, RowHead, TargetOptions } from '../../engine/index.js';
import { type Graph, type Tensor, type TensorData, volume } from '../../graph/index.js';
import type { TextWindow } from '../../text/index.js';
import { crossEntropy, fillTargets } from '../cross-entropy.js';
import type { SequenceDataset, TaggedSentence } from './sequence-dataset.js';
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
    loss: crossEntropy,
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
  const rows = labelled.map(({ row, tag }) => {
    return { row, id: tag, weight: balanced ? (tagWeights[tag] ?? 1) : 1 };
  });
  const total = Math.max(
    MIN_WEIGHT,
    rows.reduce((sum, { weight }) => sum + weight, 0),
  );
  const data = new Float32Array(volume(dims));
  fillTargets(data, rows, { classes: dims.at(-1) ?? 0, total, labelSmoothing });
  return { targets: { type: 'float32', dims, data }, weight: total };
}

/** The encoder's parameters and those of transformers' token classifier. */
function tokenParameters(encoder: Encoder, tags: number): readonly ParameterSpec[] {
  return [...encoder.parameters(encoder.prefix), ...encoder.tokenHead.parameters(tags)];
}

/** Encoder and transformers' token classifier over every hidden state. @returns logits [tokens, batch, tags]. */
export function tokenLogits(
  graph: Graph,
  encoder: Encoder,
  inputs: EncoderInputs,
  tags: number,
  dropout?: Dropout,
): Tensor {
  const states = encoder.states(graph, inputs, { prefix: encoder.prefix, ...(dropout && { dropout }) });
  return graph.reshape(encoder.tokenHead.logits(graph, states, tags, dropout), ['tokens', 'batch', tags]);
}

/** What {@link tokenLogits} ends with, unless layers that start at random come before it. */
function tokenEnd(
  encoder: Encoder,
  tags: number,
  labelledTokens: NonNullable<LinearEnd['labelledTokens']>,
): LinearEnd | undefined {
  const { prefix, width, tokenHead } = encoder;
  const [weight, bias] = tokenHead.parameters(tags);
  if (tokenHead.inner.length > 0 || weight === undefined || bias === undefined) return undefined;
  return {
    weight: weight.name,
    bias: bias.name,
    lossesPerRow: 1,
    states: (graph, _, inputs) => graph.reshape(encoder.states(graph, inputs, { prefix }), ['tokens', 'batch', width]),
    labelledTokens,
  };
}

/** No tag counts more than this many times the mean, or rare tags would drown out the others. */
const LARGEST_WEIGHT = 10;

/**
 * The weight of a word by its tag, if rare tags are to count as much as frequent ones: words / (tags · words
 * so tagged).
 */
function tagWeights(sentences: readonly TaggedSentence[], tags: number): number[] {
  const counts = new Array<number>(tags).fill(0);
  let words = 0;
  for (const sentence of sentences) {
    for (const tag of sentence.tags) counts[tag] = (counts[tag] ?? 0) + 1;
    words += sentence.tags.length;
  }
  return counts.map((count) => Math.min(LARGEST_WEIGHT, words / (tags * Math.max(1, count))));
}
