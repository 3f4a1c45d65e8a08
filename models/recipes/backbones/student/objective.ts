import type { ParameterSpec } from '../../../../src/encoder/index.js';
import type { LossHead } from '../../../../src/engine/index.js';
import type { TensorData } from '../../../../src/graph/index.js';
import type { Encoding } from '../../../../src/text/index.js';

/** Prefix of the encoder's parameter names: that of a bare BertModel on the Hub, none. */
export const ENCODER_PREFIX = '';

/** Texts as the student sees them, and the other inputs of the loss. */
export interface LearningBatch {
  readonly encodings: readonly Encoding[];
  readonly feeds: Readonly<Record<string, TensorData>>;
}

/** A training objective: its examples, its loss, and how progress is measured. */
export interface Objective {
  readonly head: LossHead;
  /** The encoder's parameters after {@link ENCODER_PREFIX}, then the head's own. */
  readonly parameters: readonly ParameterSpec[];
  /** Tokens of each example's longest text: examples of similar length share a batch. */
  readonly lengths: readonly number[];
  /** Most tokens of any text, those for validation included. */
  readonly longest: number;
  /**
   * The same step masks the same tokens, so that a resumed run repeats what an uninterrupted one would do.
   */
  batch(examples: readonly number[], step: number): LearningBatch;
  /** What the curve shows besides the training loss, by the names used in checkpoints. */
  readonly measures: readonly string[];
  /**
   * Batches of the validation examples whose loss is this measure. Each must be used before the next is asked
   * for.
   */
  validation(measure: string): Iterable<LearningBatch>;
}

/** The encoding that these ids came from; [CLS] and [SEP] are marked as special tokens. */
export function encodingOf(ids: Int32Array): Encoding {
  const sequenceIds = new Int32Array(ids.length);
  sequenceIds[0] = -1;
  sequenceIds[ids.length - 1] = -1;
  return { ids, typeIds: new Int32Array(ids.length), sequenceIds, offsets: null, truncated: 0 };
}
