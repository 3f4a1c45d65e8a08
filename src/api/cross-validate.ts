import type { ResultAsync } from 'neverthrow';
import { callResult, type ModelType, type OrchardError } from '../contract/index.js';
import type { DatasetWarning, TrainingRow } from '../datasets/index.js';
import type { Answer, AnswerTo } from './answers.js';
import type { Evaluation } from './evaluate.js';
import type { DoubtfulRow } from './label-errors.js';
import { withAbsolutePaths } from './paths.js';
import type { TrainOptions } from './train.js';

type TrainingOptions<Row extends TrainingRow> = Omit<TrainOptions<Row>, 'url' | 'dev' | 'test' | 'output' | 'labels'>;

/**
 * What to train on, and how to divide it. The training options apply to each fold; within the rows that a fold trains on,
 * `devFraction` of them choose the best epoch.
 */
export interface CrossValidateOptions<Row extends TrainingRow = TrainingRow> extends TrainingOptions<Row> {
  /** Number of parts, each of which is held out once, 2 to 100. Default 5. */
  readonly folds?: number | undefined;
  /** How many times the rows are divided anew, 1 to 20. Default 1. */
  readonly repeats?: number | undefined;
  /** The group of each of `rows`; a group is never split across folds. Default: only equal texts stay together. */
  readonly groups?: readonly string[] | ((row: Row, at: number) => string) | undefined;
  /** The column of a file with the group of each row. */
  readonly groupColumn?: string | undefined;
  /** Number of bootstrap samples for the 95 % intervals, 100 to 100,000. Default 1,000. */
  readonly resamples?: number | undefined;
  /** Called after each fold. If it throws, the cross-validation ends. */
  readonly onFold?: ((fold: FoldSummary) => void) | undefined;
}

/** One training, and how its model did on the rows that were held out. */
export interface FoldSummary {
  /** From 0. */
  readonly repeat: number;
  /** From 0. */
  readonly fold: number;
  /** Number of rows to train on, dev rows included. */
  readonly train: number;
  /** Number of rows held out. */
  readonly test: number;
  /** The figures on the held-out rows, by the names of `evaluationFigures`. */
  readonly figures: Readonly<Record<string, number>>;
  readonly seconds: number;
}

/** A figure over all folds of all repeats. */
export interface FoldFigure {
  /** For people to read, such as `macro F1`. */
  readonly name: string;
  readonly mean: number;
  /** Sample standard deviation over folds (n − 1). It is not a standard error of the mean, since trainings share rows. */
  readonly deviation: number;
  readonly lowest: number;
  readonly highest: number;
}

/** The answer to a row from a model that was not trained on it. */
export interface OutOfFoldAnswer<Given extends Answer = Answer> {
  /** The position of the row, from 0. */
  readonly row: number;
  readonly repeat: number;
  readonly fold: number;
  readonly answer: Given;
}

/** How well models with these rows and settings do on rows that they were not trained on. */
export interface CrossValidation<Given extends Answer = Answer> {
  readonly type: ModelType;
  /** Whether the type was given, or inferred from the data. */
  readonly typeIs: 'given' | 'inferred';
  /** Why the type was chosen, for people to read. */
  readonly reason: string;
  /** Each training, repeat by repeat. */
  readonly folds: readonly FoldSummary[];
  /** The mean and spread of each figure over the folds. */
  readonly figures: readonly FoldFigure[];
  /** One for each repeat: the evaluation of all rows, each by the model that was not trained on it. */
  readonly evaluations: readonly Evaluation[];
  /** Repeat by repeat, in the order of the rows. */
  readonly answers: readonly OutOfFoldAnswer<Given>[];
  /** Rows whose labels are probably wrong, the most probable first. */
  readonly doubtful: readonly DoubtfulRow[];
  /** Problems in the data that did not stop the training. */
  readonly warnings: readonly DatasetWarning[];
  readonly seconds: number;
}

/**
 * Estimates how good a model of these rows would be, using all of them: the rows are divided into folds, and for each fold
 * a model is trained on the others and evaluated on it. Folds are stratified by label or entity type. Rows with equal
 * texts, or of one of `groups`, stay in the same fold.
 *
 * Fails as `train` does, and with a ValidationError if the rows can't be divided. The first failing training ends it.
 */
export function crossValidate<Row extends TrainingRow>(
  options: CrossValidateOptions<Row>,
): ResultAsync<CrossValidation<AnswerTo<Row, string>>, OrchardError>;
export function crossValidate(options: CrossValidateOptions): ResultAsync<CrossValidation, OrchardError> {
  const given = withAbsolutePaths(options);
  const work = async () => (await import('./cross-validate-rows.js')).crossValidateRows(given);
  return callResult(work(), 'cross-validating');
}
