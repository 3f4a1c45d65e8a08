import type { DatasetLocation, DatasetWarning } from '../../datasets/index.js';

/** What a retrieval model is trained on. */
export interface RetrievalDataset {
  /** The passages to search, each once, in the order of label_id.json. */
  readonly passages: readonly string[];
  readonly train: readonly Question[];
  readonly dev: readonly Question[];
  readonly warnings: readonly DatasetWarning[];
}

/** A question with the passage that answers it. */
export interface Question {
  readonly question: string;
  /** Index into the passages. */
  readonly passage: number;
}

/** A question with its place in the source. */
export interface LocatedQuestion extends Question, DatasetLocation {}
