import type { LossTargets, RowHead, TargetOptions } from '../../engine/index.js';
import type { TensorData } from '../../graph/index.js';
import type { TextWindow } from '../../text-reader/index.js';
import type { SequenceDataset } from './sequence-dataset.js';
import { tagWeights } from './tag-weights.js';
import { tokenLogits, tokenLoss, tokenParameters } from './token-head.js';
import { firstPieces, sentencePlaces } from './word-pieces.js';

/** The weight of a batch without a labelled token. Its loss is 0, but weights are divided by. */
const MIN_WEIGHT = 1e-6;

/** Predicts a tag for the first piece of every word; its targets are the tags of the training sentences. */
export function sequenceHead({ tags, train }: SequenceDataset): RowHead {
  const places = train.map(({ words }) => sentencePlaces(words));
  const weights = tagWeights(train, tags.length);
  return {
    kind: 'rows',
    per: 'token',
    outputs: () => tags.length,
    parameters: (encoder) => tokenParameters(encoder, tags.length),
    logits: (graph, encoder, inputs, dropout) => tokenLogits(graph, encoder, inputs, tags.length, dropout),
    loss: tokenLoss,
    targets(batch, options) {
      const labels = batch.map(({ row, encoding }) =>
        firstPieces(encoding, places[row] ?? []).map(({ word, token }) => ({
          token,
          tag: train[row]?.tags[word] ?? 0,
        })),
      );
      return tokenTargets(batch, labels, tags.length, options, weights);
    },
  };
}

interface LabelledToken {
  readonly token: number;
  readonly tag: number;
}

/** A labelled token's targets sum to its share of the batch's weight; those of other tokens are 0. */
function tokenTargets(
  batch: readonly TextWindow[],
  labels: readonly (readonly LabelledToken[])[],
  tags: number,
  { labelSmoothing, balanced }: TargetOptions,
  tagWeights: readonly number[],
): LossTargets {
  const weightOf = (tag: number) => (balanced ? (tagWeights[tag] ?? 1) : 1);
  const total = Math.max(
    MIN_WEIGHT,
    labels.flat().reduce((sum, { tag }) => sum + weightOf(tag), 0),
  );
  const tokens = batch.reduce((longest, { encoding }) => Math.max(longest, encoding.ids.length), 0);
  const data = new Float32Array(tokens * batch.length * tags);
  for (const [row, labelled] of labels.entries()) {
    for (const { token, tag } of labelled) {
      const at = (token * batch.length + row) * tags;
      const share = weightOf(tag) / total;
      data.fill((share * labelSmoothing) / tags, at, at + tags);
      data[at + tag] = share * (1 - labelSmoothing + labelSmoothing / tags);
    }
  }
  const targets: TensorData = { type: 'float32', dims: [tokens, batch.length, tags], data };
  return { feeds: { targets }, weight: total };
}
