import type { DatasetLocation, DatasetWarning } from '../../datasets/index.js';

export interface RetrievalDataset {
  /** The passages to search, each once, in the order of label_id.json. */
  readonly passages: readonly string[];
  readonly train: readonly Question[];
  readonly dev: readonly Question[];
  /** Whether dev was drawn from the rows that were given to train on. Default: it was given. */
  readonly isDevDrawn?: boolean;
  readonly warnings: readonly DatasetWarning[];
  /** Of a larger encoder, from which the vectors are learned, too. */
  readonly teacher?: TeacherVectors;
}

/** Vectors of unit length. */
export interface TeacherVectors {
  readonly width: number;
  /** Of the training questions, in their order. */
  readonly questions: Float32Array;
  readonly passages: Float32Array;
}

export interface Question {
  readonly question: string;
  /** Index into the passages. */
  readonly passage: number;
}

export interface LocatedQuestion extends Question, DatasetLocation {}
