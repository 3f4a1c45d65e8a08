/** What a cross-validation came to, as plain data. */
import type { ModelType } from '../../contract/index.js';
import type { DatasetWarning } from '../../datasets/index.js';
import type { Answer } from '../answers.js';
import type { Evaluation } from '../evaluation/index.js';
import type { DoubtfulRow } from './doubtful-rows.js';

/** One training, and how its model did on the rows that it had not seen. */
export interface FoldSummary {
  /** From 0. */
  readonly repeat: number;
  /** From 0. */
  readonly fold: number;
  /** Rows to train on, those for dev included. */
  readonly train: number;
  /** Rows that were held out. */
  readonly test: number;
  /** Figures on them, by name, as `evaluationFigures` has them. */
  readonly figures: Readonly<Record<string, number>>;
  readonly seconds: number;
}

/** A figure over all folds of all repeats. */
export interface FoldFigure {
  /** In words, such as `macro F1`. */
  readonly name: string;
  readonly mean: number;
  /** Standard deviation from fold to fold (n − 1). It is no error of the mean, since trainings share rows. */
  readonly deviation: number;
  readonly lowest: number;
  readonly highest: number;
}

/** The answer to a row by a model that had not seen it. */
export interface OutOfFoldAnswer<Given extends Answer = Answer> {
  /** Its position, from 0. */
  readonly row: number;
  readonly repeat: number;
  readonly fold: number;
  readonly answer: Given;
}

/** How well models of this kind of data and settings do on rows that they have not seen. */
export interface CrossValidation<Given extends Answer = Answer> {
  readonly type: ModelType;
  /** Whether the type was given, or found in the data. */
  readonly typeIs: 'given' | 'inferred';
  /** Why this type, in words. */
  readonly reason: string;
  /** Each training, repeat by repeat. */
  readonly folds: readonly FoldSummary[];
  /** Mean and spread over them. */
  readonly figures: readonly FoldFigure[];
  /** One for each repeat: all rows, each judged by the answer of the model that had not seen it. */
  readonly evaluations: readonly Evaluation[];
  /** Repeat by repeat, in the order of the rows. */
  readonly answers: readonly OutOfFoldAnswer<Given>[];
  /** Rows whose labels are probably wrong, the likeliest first. */
  readonly doubtful: readonly DoubtfulRow[];
  /** What was noticed in the data. */
  readonly warnings: readonly DatasetWarning[];
  readonly seconds: number;
}
