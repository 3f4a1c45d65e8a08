import type { DatasetLocation, DatasetWarning } from '../../datasets/index.js';

export interface RetrievalDataset {
  /** The passages to search, each once, in the order of label_id.json. */
  readonly passages: readonly string[];
  readonly train: readonly Question[];
  readonly dev: readonly Question[];
  /** Whether dev was drawn from the rows that were given to train on. Default: it was given. */
  readonly isDevDrawn?: boolean;
  readonly warnings: readonly DatasetWarning[];
}

export interface Question {
  readonly question: string;
  /** Index into the passages. */
  readonly passage: number;
}

export interface LocatedQuestion extends Question, DatasetLocation {}
