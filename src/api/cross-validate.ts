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
 * What to train on, and how to divide it. The training options apply to each fold; of the rows that a fold trains on,
 * the share `devFraction` chooses the best epoch.
 */
export interface CrossValidateOptions<Row extends TrainingRow = TrainingRow> extends TrainingOptions<Row> {
  /** The path of a file of rows (docs/files.md). A dataset archive is not accepted. */
  readonly path?: string | undefined;
  /** Number of folds, 2 to 100. Each fold is held out once. Default 5. */
  readonly folds?: number | undefined;
  /** Number of repeats, each with different folds, 1 to 20. Default 1. */
  readonly repeats?: number | undefined;
  /**
   * The group of each row of `rows`, as an array in their order or as a function. With `skipInvalid`, the array has the
   * groups of all rows, and the function is called for those that are not left out. All rows of a group are in the same
   * fold. Default: only rows with equal texts stay together.
   */
  readonly groups?: readonly string[] | ((row: Row, at: number) => string) | undefined;
  /** The same for a file: the name of the column with the group of each row. */
  readonly groupColumn?: string | undefined;
  /** Number of bootstrap samples for the 95 % intervals, 100 to 100,000. Default 1,000. */
  readonly resamples?: number | undefined;
  /** Called after each fold. If it throws, the cross-validation ends. */
  readonly onFold?: ((fold: FoldSummary) => void) | undefined;
}

/** One training run, and the figures of its model on the rows that were held out. */
export interface FoldSummary {
  /** From 0. */
  readonly repeat: number;
  /** From 0. */
  readonly fold: number;
  /** Number of rows to train on, including dev rows. */
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
  /** Sample standard deviation over folds (n − 1). It is not a standard error of the mean, since runs share rows. */
  readonly deviation: number;
  readonly lowest: number;
  readonly highest: number;
}

/** The answer to a row from a model that was not trained on it. */
export interface OutOfFoldAnswer<Given extends Answer = Answer> {
  /** The position of the row, from 0: among `rows` as they were given, or among the rows that were read from a file. */
  readonly row: number;
  readonly repeat: number;
  readonly fold: number;
  readonly answer: Given;
}

/** How well models trained on these rows with these settings answer rows that they were not trained on. */
export interface CrossValidation<Given extends Answer = Answer> {
  readonly type: ModelType;
  /** Whether the type was given, or inferred from the data. */
  readonly typeIs: 'given' | 'inferred';
  /** Why the type was chosen, for people to read. */
  readonly reason: string;
  /** Each training run, repeat by repeat. */
  readonly folds: readonly FoldSummary[];
  /** The mean and spread of each figure over the folds. */
  readonly figures: readonly FoldFigure[];
  /** One for each repeat: the evaluation of all rows, each by the model that was not trained on it. */
  readonly evaluations: readonly Evaluation[];
  /** Repeat by repeat, in the order of the rows. */
  readonly answers: readonly OutOfFoldAnswer<Given>[];
  /** Rows whose labels are probably wrong, those with the least probable labels first. */
  readonly doubtful: readonly DoubtfulRow[];
  /** Problems in the data that did not stop the training. */
  readonly warnings: readonly DatasetWarning[];
  readonly seconds: number;
}

/**
 * Estimates how well a model trained on these rows performs. The rows are divided into folds; for each fold, a model
 * is trained on the other folds and evaluated on this one, so that every row is used for evaluation. Folds are
 * stratified by label or entity type. Rows with equal texts or of the same group stay in the same fold.
 *
 * Fails as `train` does, and with a ValidationError if the rows can't be divided. If one training run fails, the
 * call fails.
 */
export function crossValidate<Row extends TrainingRow>(
  options: CrossValidateOptions<Row>,
): ResultAsync<CrossValidation<AnswerTo<Row, string>>, OrchardError>;
export function crossValidate(options: CrossValidateOptions): ResultAsync<CrossValidation, OrchardError> {
  const given = withAbsolutePaths(options);
  const work = async () => (await import('./cross-validate-rows.js')).crossValidateRows(given);
  return callResult(work(), 'cross-validating');
}
