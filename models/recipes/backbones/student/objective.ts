import type { ParameterSpec } from '../../../../src/encoder/index.js';
import type { LossHead } from '../../../../src/engine/index.js';
import type { TensorData } from '../../../../src/graph/index.js';
import type { Encoding } from '../../../../src/tokenizer/index.js';

/** Before the names of the encoder's parameters: a bare BertModel, as the Hub has it. */
export const ENCODER_PREFIX = '';

/** Texts as the student sees them, and what the loss is fed beside them. */
export interface LearningBatch {
  readonly encodings: readonly Encoding[];
  readonly feeds: Readonly<Record<string, TensorData>>;
}

/** What a student is to learn: from which examples, by which loss, and how one sees that it does. */
export interface Objective {
  readonly head: LossHead;
  /** The encoder's parameters after {@link ENCODER_PREFIX}, then the head's own. */
  readonly parameters: readonly ParameterSpec[];
  /** Tokens of each example's longest text: examples of like length share a batch. */
  readonly lengths: readonly number[];
  /** The most tokens of any text, those for validation included. */
  readonly longest: number;
  readonly textsPerExample: number;
  /** The same step hides the same tokens, so that a resumed run repeats what an uninterrupted one did. */
  batch(examples: readonly number[], step: number): LearningBatch;
  /** What the curve shows beside the training loss, by the names that checkpoints have. */
  readonly measures: readonly string[];
  /** Batches of the validation examples, whose loss is this measure. Each is to be used before the next is asked for. */
  validation(measure: string): Iterable<LearningBatch>;
}

/** The encoding that these ids came from; [CLS] and [SEP] are marked as added. */
export function encodingOf(ids: Int32Array): Encoding {
  const sequenceIds = new Int32Array(ids.length);
  sequenceIds[0] = -1;
  sequenceIds[ids.length - 1] = -1;
  return { ids, typeIds: new Int32Array(ids.length), sequenceIds, offsets: null, truncated: 0 };
}
