import type { ResultAsync } from 'neverthrow';
import { callResult, type ModelType, type OrchardError } from '../contract/index.js';
import type { DatasetWarning, ReadingOptions, Rows, RowsOrPath, TrainingRow } from '../datasets/index.js';
import type { ModelLoader } from '../models/index.js';
import type { DoubtfulRow } from './label-errors.js';
import { withAbsolutePaths } from './paths.js';

/** What to check. One of `rows` and `path` says where the examples are. */
export interface CheckDataOptions<Row extends TrainingRow = TrainingRow> extends ReadingOptions {
  /** Examples, all with the same fields. */
  readonly rows?: Rows<Row> | undefined;
  /** A CSV, TSV, JSON Lines or CoNLL file of examples. */
  readonly path?: string | undefined;
  /** Default: the type that fits the data. */
  readonly type?: ModelType | undefined;
  /** Examples for choosing the best epoch: checked for texts that are also in the rows. */
  readonly dev?: RowsOrPath<Row> | undefined;
  /** Examples for evaluation: checked for texts that are also in the rows. */
  readonly test?: RowsOrPath<Row> | undefined;
  /**
   * The encoder that labels are judged by: the name of a backbone or pretrained model, `owner/name` on the Hugging Face
   * Hub, or a folder. Default `english-mini`.
   */
  readonly model?: string | undefined;
  /** Loads models that are not folders. Default: the catalogue, the backbones and, for `owner/name`, the Hub. */
  readonly modelLoader?: ModelLoader | undefined;
  /** Most rows whose labels are judged, 100 to 100,000; of more, a random sample. Default 10,000. */
  readonly maxJudged?: number | undefined;
  /** Threads to compute with. Default: the processors available. */
  readonly threads?: number | undefined;
  /** Decides every random choice. Default 0. */
  readonly seed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Where a row is. */
export interface RowPlace {
  /** Its position, from 0. */
  readonly row: number;
  /** Its line in the file, from 1; absent for rows in memory. */
  readonly line?: number | undefined;
}

/** Rows with the same text, case and spacing aside, and the same labels, entities or passages. */
export interface DuplicateRows {
  readonly text: string;
  /** Of a pair. */
  readonly text2?: string | undefined;
  readonly rows: readonly RowPlace[];
}

/** Rows with the same text, case and spacing aside, but other labels or entities. */
export interface ConflictingRows {
  readonly text: string;
  /** Of a pair. */
  readonly text2?: string | undefined;
  readonly rows: readonly (RowPlace & { readonly given: readonly string[] })[];
}

/** A text of the rows that is in dev or test too, case and spacing aside. */
export interface LeakedText {
  readonly text: string;
  /** Of a pair. */
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

/** Two labels of which models take one for the other. */
export interface ConfusedLabels {
  readonly labels: readonly [string, string];
  /** Number of rows with one of them for which the other is the most probable. */
  readonly rows: number;
}

/** How many labels are wrong. */
export interface LabelErrors {
  /** Number of different rows whose labels were judged. */
  readonly judged: number;
  /** Expected number of them with a wrong label; the first rows of `doubtful` are the likeliest. */
  readonly expected: number;
  /** Whether any label is wrong, by a likelihood-ratio test at the level of 1 %. */
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
  /** What was noticed while reading: columns that nothing reads, rows that were left out, places that fit few words. */
  readonly warnings: readonly DatasetWarning[];
  /** The most frequent first. */
  readonly labels: readonly LabelCount[];
  /** Labels with fewer than five rows, too few to learn from. */
  readonly rareLabels: readonly LabelCount[];
  /** Groups of labels that differ only in case, spacing, punctuation or, where one is rare, in one letter. */
  readonly similarLabels: readonly (readonly LabelCount[])[];
  readonly duplicates: readonly DuplicateRows[];
  readonly conflicts: readonly ConflictingRows[];
  readonly leaks: readonly LeakedText[];
  /** Classifiers only, and not of rows with probabilities, which say themselves how sure they are. */
  readonly labelErrors?: LabelErrors;
  /** Rows for which other labels are more probable, those whose labels are the least probable first. Classifiers only. */
  readonly doubtful: readonly DoubtfulRow[];
  /** The most frequent first. Classifiers only. */
  readonly confusions: readonly ConfusedLabels[];
  readonly seconds: number;
}

/**
 * Looks for mistakes in training data without training a model: labels that are probably wrong, repeated and contradictory
 * rows, rows that are in dev or test too, labels that look alike, labels that are confused with each other, and labels
 * with too few rows.
 *
 * A label is judged by logistic regression on the vectors of an encoder and by the lexical expert, both trained without
 * its row. All rows are compared and counted; of more than `maxJudged` different ones, a sample is judged.
 *
 * Fails as `train` does for data that can't be trained on; with a NotFoundError or ModelFolderError for `model`; with an
 * AbortedError when the signal fires.
 */
export function checkData<Row extends TrainingRow>(
  options: CheckDataOptions<Row>,
): ResultAsync<DataCheck, OrchardError> {
  const given = withAbsolutePaths(options);
  const work = async () => (await import('./check-rows.js')).checkRows(given);
  return callResult(work(), 'checking data');
}
