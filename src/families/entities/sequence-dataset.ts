import type { ModelType } from '../../contract/index.js';
import type { DatasetLocation, DatasetWarning } from '../../datasets/index.js';

/** The model types of this family; both names mean the same task. */
export const sequenceTypes = ['sequence-labeling', 'named-entity-recognition'] as const satisfies readonly ModelType[];

/** Words, and the id of each one's BIO tag. The tags are valid: an I- always continues an entity of its type. */
export interface TaggedSentence {
  readonly words: readonly string[];
  readonly tags: readonly number[];
  /** How probable each tag is, with a sum of 1, for the words whose tags are not certain. Absent if all are. */
  readonly shares?: readonly (readonly number[] | undefined)[];
  /** What the words are of, where that is known and not the words with a space between each two. */
  readonly text?: string;
}

export interface LocatedSentence extends TaggedSentence, DatasetLocation {
  /** Whether an I- tag that continued nothing was read as B-. */
  readonly isRepaired: boolean;
}

export interface SequenceDataset {
  readonly tags: readonly string[];
  readonly train: readonly TaggedSentence[];
  readonly dev: readonly TaggedSentence[];
  /** Whether dev was drawn from the rows that were given to train on. Default: it was given. */
  readonly isDevDrawn?: boolean;
  readonly warnings: readonly DatasetWarning[];
}
