/** What `crossValidate` takes. */
import * as z from 'zod';
import { validate } from '../../contract/index.js';
import { invalid, type TrainingRow } from '../rows/index.js';
import {
  callback,
  settingsFrom,
  type TrainOptions,
  type TrainSettings,
  trainSchema,
} from '../training/train-options.js';
import type { FoldSummary } from './cross-validation.js';

type TrainingOptions<Row extends TrainingRow> = Omit<TrainOptions<Row>, 'url' | 'dev' | 'test' | 'output'>;

/**
 * Rows, and how they are divided. The options of the training hold for each fold; of the rows that a fold trains on,
 * `devFraction` choose the best epoch.
 */
export interface CrossValidateOptions<Row extends TrainingRow = TrainingRow> extends TrainingOptions<Row> {
  /** How many parts, each of which is held out once, 2 to 100. Default 5. */
  readonly folds?: number | undefined;
  /** How often the rows are divided anew, 1 to 20. Default 1. */
  readonly repeats?: number | undefined;
  /** The group of each of `rows`, which folds never tear apart. Default: each row by itself; equal texts stay together. */
  readonly groups?: readonly string[] | ((row: Row, at: number) => string) | undefined;
  /** The column of a file that has the group. */
  readonly groupColumn?: string | undefined;
  /** How often rows are drawn again for the 95 % intervals, 100 to 100,000. Default 1,000. */
  readonly resamples?: number | undefined;
  /** Called when a fold has been judged. What it throws ends the whole. */
  readonly onFold?: ((fold: FoldSummary) => void) | undefined;
}

const { url, dev, test, output, ...trainingShape } = trainSchema.shape;
const crossValidateSchema = z.strictObject({
  ...trainingShape,
  folds: z.int().min(2).max(100).default(5),
  repeats: z.int().min(1).max(20).default(1),
  groups: z.union([z.array(z.string()), callback<(row: TrainingRow, at: number) => string>()]).optional(),
  groupColumn: z.string().min(1, 'the name of the column is empty').optional(),
  resamples: z.int().min(100).max(100_000).default(1000),
  onFold: callback<(fold: FoldSummary) => void>().optional(),
});

/** The options, checked, with the defaults filled in. */
export interface CrossValidateSettings
  extends Pick<
    z.infer<typeof crossValidateSchema>,
    'folds' | 'repeats' | 'groups' | 'groupColumn' | 'resamples' | 'onFold'
  > {
  readonly training: TrainSettings;
}

/** @throws ValidationError */
export function crossValidateSettings(options: unknown): CrossValidateSettings {
  const checked = validate(crossValidateSchema, options ?? {});
  const { folds, repeats, groups, groupColumn, resamples, onFold, ...rest } = checked;
  // Each fold reads the passages again.
  const training = settingsFrom({ ...rest, passages: rest.passages && [...rest.passages] });
  if (groups !== undefined && training.source.kind === 'path') {
    throw invalid(['groups'], 'groups are for rows in memory; name the column of a file as groupColumn');
  }
  if (groupColumn !== undefined && training.source.kind === 'rows') {
    throw invalid(['groupColumn'], 'rows in memory have no columns; give their groups as groups');
  }
  return { training, folds, repeats, groups, groupColumn, resamples, onFold };
}
