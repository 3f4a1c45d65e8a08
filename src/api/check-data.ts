import type { ResultAsync } from 'neverthrow';
import { callResult, type ModelType, type OrchardError } from '../contract/index.js';
import type { DatasetWarning, ReadingOptions, Rows, RowsOrPath, TrainingRow } from '../datasets/index.js';
import type { ModelLoader } from '../models/index.js';
import type { DoubtfulRow } from './label-errors.js';
import { withAbsolutePaths } from './paths.js';

/** Options of {@link checkData}. Give either `rows` or `path`. */
export interface CheckDataOptions<Row extends TrainingRow = TrainingRow> extends ReadingOptions {
  /** The rows to check, all with the same fields. */
  readonly rows?: Rows<Row> | undefined;
  /** The path of a file of rows (docs/files.md). */
  readonly path?: string | undefined;
  /** Default: the type that fits the data. */
  readonly type?: ModelType | undefined;
  /** Rows for choosing the best epoch. Texts that also occur in the rows to check are reported as `leaks`. */
  readonly dev?: RowsOrPath<Row> | undefined;
  /** Rows for evaluation. Texts that also occur in the rows to check are reported as `leaks`. */
  readonly test?: RowsOrPath<Row> | undefined;
  /**
   * The encoder that judges the labels: the name of a backbone or pretrained model, `owner/name` on the Hugging Face
   * Hub, or a folder. Default `english-mini`.
   */
  readonly model?: string | undefined;
  /** Loads models that are not folders. Default: the catalogue, the backbones and, for `owner/name`, the Hub. */
  readonly modelLoader?: ModelLoader | undefined;
  /**
   * Maximum number of rows whose labels are judged, 100 to 100,000. If there are more, a random sample is judged.
   * Default 10,000.
   */
  readonly maxJudged?: number | undefined;
  /** Number of CPU threads. Default: one for each available processor. */
  readonly threads?: number | undefined;
  /** Seed of all random choices. Default 0. */
  readonly seed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Where a row is. */
export interface RowPlace {
  /** Its position, from 0: among `rows` as they were given, or among the rows that were read from a file. */
  readonly row: number;
  /** Its line in the file, from 1; absent for rows in memory. */
  readonly line?: number | undefined;
}

/** Rows with the same text, ignoring case and spacing, and the same labels, entities or passages. */
export interface DuplicateRows {
  readonly text: string;
  /** The second text, in rows of pairs. */
  readonly text2?: string | undefined;
  readonly rows: readonly RowPlace[];
}

/** Rows with the same text, ignoring case and spacing, but different labels or entities. */
export interface ConflictingRows {
  readonly text: string;
  /** The second text, in rows of pairs. */
  readonly text2?: string | undefined;
  readonly rows: readonly (RowPlace & { readonly given: readonly string[] })[];
}

/** A text of the rows that also occurs in dev or test, ignoring case and spacing. */
export interface LeakedText {
  readonly text: string;
  /** The second text, in rows of pairs. */
  readonly text2?: string | undefined;
  readonly set: 'dev' | 'test';
  /** Where it is in the rows. */
  readonly rows: readonly RowPlace[];
  /** Where it is in dev or test. */
  readonly others: readonly RowPlace[];
}

/** A label, or a type of entities. */
export interface LabelCount {
  readonly label: string;
  /** Number of rows that have it. */
  readonly rows: number;
}

/** Two labels that models confuse with each other. */
export interface ConfusedLabels {
  readonly labels: readonly [string, string];
  /** Number of rows with one of them for which the other is the most probable. */
  readonly rows: number;
}

/** An estimate of how many labels are wrong. */
export interface LabelErrors {
  /** Number of different rows whose labels were judged. */
  readonly judged: number;
  /** Expected number of these rows with a wrong label. The most likely ones come first in `doubtful`. */
  readonly expected: number;
  /** Whether there is evidence of wrong labels, by a likelihood-ratio test at the 1 % level. */
  readonly isEvident: boolean;
}

/** What `checkData` found. */
export interface DataCheck {
  readonly type: ModelType;
  /** Whether the type was given, or inferred from the data. */
  readonly typeIs: 'given' | 'inferred';
  /** Why the type was chosen, for people to read. */
  readonly reason: string;
  /** Number of rows. */
  readonly rows: number;
  /** What a file was read as, in words: `CSV: 240 texts, 3 labels`. Absent for rows in memory. */
  readonly readAs?: string;
  /**
   * Warnings, also about `dev` and `test`: columns that are not used, rows that were left out, entity offsets that don't
   * fit the words, an encoder that hardly knows the language of the texts.
   */
  readonly warnings: readonly DatasetWarning[];
  /** The most frequent first. */
  readonly labels: readonly LabelCount[];
  /** Labels with fewer than five rows, too few to learn from. */
  readonly rareLabels: readonly LabelCount[];
  /**
   * Groups of labels that differ only in case, accents, spacing or punctuation or, where one has at most a fifth of the
   * other's rows, in one letter.
   */
  readonly similarLabels: readonly (readonly LabelCount[])[];
  readonly duplicates: readonly DuplicateRows[];
  readonly conflicts: readonly ConflictingRows[];
  readonly leaks: readonly LeakedText[];
  /** Classifiers only. Absent for rows with probabilities, which already say how certain each label is. */
  readonly labelErrors?: LabelErrors;
  /**
   * Rows for which other labels are more probable than their own, those with the least probable labels first.
   * Classifiers only.
   */
  readonly doubtful: readonly DoubtfulRow[];
  /** The most frequent first. Classifiers only. */
  readonly confusions: readonly ConfusedLabels[];
  readonly seconds: number;
}

/**
 * Looks for mistakes in training data without training a model: labels that are probably wrong, repeated and
 * contradictory rows, rows that are also in dev or test, labels that look alike, labels that are confused with each
 * other, and labels with too few rows.
 *
 * A label is judged by logistic regression on the vectors of an encoder and by the lexical expert, both trained without
 * its row. All rows are compared and counted; if there are more than `maxJudged` distinct ones, a random sample of these
 * is judged.
 *
 * Fails as `train` does for data that can't be trained on; with a NotFoundError or ModelFolderError for `model`; with
 * an AbortedError when the signal fires.
 */
export function checkData<Row extends TrainingRow>(
  options: CheckDataOptions<Row>,
): ResultAsync<DataCheck, OrchardError> {
  const given = withAbsolutePaths(options);
  const work = async () => (await import('./check-rows.js')).checkRows(given);
  return callResult(work(), 'checking data');
}
