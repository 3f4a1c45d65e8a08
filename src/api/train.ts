import type { ResultAsync } from 'neverthrow';
import { callResult, type Device, type ModelSize, type ModelType, type OrchardError } from '../contract/index.js';
import type { ReadingOptions, Rows, RowsOrPath, TrainingRow } from '../datasets/index.js';
import type { TrainingEvent } from '../jobs/index.js';
import type { ModelLoader, Rule } from '../models/index.js';
import type { Effort, TrainingIsolation, Tuning } from '../training/index.js';
import type { AnswerTo, AnswerToType } from './answers.js';
import type { TrainedModel } from './model.js';
import { withAbsolutePaths } from './paths.js';

/** Options of {@link train}. Give one of `rows`, `path` and `url`, or only `labels`. */
export interface TrainOptions<Row extends TrainingRow = TrainingRow> extends ReadingOptions {
  /** The rows to train on, all with the same fields. */
  readonly rows?: Rows<Row> | undefined;
  /** The path of a file of rows (docs/files.md), or of a dataset archive: a zip or its unpacked folder. */
  readonly path?: string | undefined;
  /** The http or https URL of the zip of a dataset archive. */
  readonly url?: string | undefined;
  /**
   * Classifiers: the labels in the order of their ids, or an object that maps each label to what it means in words,
   * which a model on few rows learns from, too (docs/few-rows.md); a warning says if others don't. Without rows, a first
   * classifier is made from this option alone. Default: the labels of the rows.
   */
  readonly labels?: readonly string[] | Readonly<Record<string, string>> | undefined;
  /**
   * Classifiers with two labels: the label that every `f1` of the training describes, such as a rare one that matters.
   * Default: the second label.
   */
  readonly positive?: string | undefined;
  /** Question answering: passages to search in addition to those of the rows. Default: none. */
  readonly passages?: Iterable<string> | undefined;
  /** The type of the model. Default: inferred from the data; `training.reason` of the model says why. */
  readonly type?: ModelType | undefined;
  /**
   * The name of the model: 1 to 24 characters of a–z, 0–9 and `-`. Default: from the name of the file, otherwise
   * `model`.
   */
  readonly name?: string | undefined;
  /**
   * The model to start from: the folder of a model or backbone, the name of a pretrained model or backbone, or
   * `owner/name` on the Hugging Face Hub. Its encoder is trained further; the labels may differ. Default: the backbone
   * for `language` and `size`.
   */
  readonly base?: string | undefined;
  /** Loads `base` if it is not a folder. Default: the catalogue, the backbones and, for `owner/name`, the Hub. */
  readonly modelLoader?: ModelLoader | undefined;
  /**
   * Selects the backbone, together with `language`. If training starts from random weights, the number and width of the
   * layers. Not with `base`. Default `mini`.
   */
  readonly size?: ModelSize | undefined;
  /**
   * The folder to write the model to. It must be missing or empty, or hold a model, which is replaced with all that is in
   * the folder; so it must hold no file that is read. Default: a temporary folder, which `close` of the model removes.
   */
  readonly output?: string | undefined;
  /**
   * Rows for choosing the best epoch, or the path of their file. An archive has its own. Default: the share
   * `devFraction` of the rows. Without `devFraction` and options for training in epochs, such as `epochs`, few rows are
   * not divided (docs/few-rows.md): a classifier or entity model that starts from a backbone on the CPU learns from all
   * of up to 1,000 single texts (up to 20,000 with the effort `quick`) and is judged in folds; fewer than 200 questions
   * all judge the model, whose vectors are not trained.
   */
  readonly dev?: RowsOrPath<Row> | undefined;
  /**
   * Share of the rows to set aside for dev, above 0 and below 1. Not with `dev`. Default 0.1, except for few rows (see
   * `dev`).
   */
  readonly devFraction?: number | undefined;
  /**
   * Rows to evaluate the trained model on, or the path of their file; `training.test` has the result. Default: none.
   */
  readonly test?: RowsOrPath<Row> | undefined;
  /** Maximum number of epochs. The default depends on the family and the number of rows. */
  readonly epochs?: number | undefined;
  /** The peak learning rate. The default depends on the size or backbone. */
  readonly learningRate?: number | undefined;
  /** Number of rows per training step. Default 32, or 16 for fewer than 2,000 rows. */
  readonly batchSize?: number | undefined;
  /** The language of the texts: an English name, or a code such as `en-GB`. Default `english`. */
  readonly language?: string | undefined;
  /** Whether to convert texts to lower case. Default true, or what the backbone expects. */
  readonly lowercase?: boolean | undefined;
  /** Whether to add edited copies of rows. Default false. */
  readonly augment?: boolean | undefined;
  /** Whether to start from a backbone; false starts from random weights. Default true. */
  readonly pretrained?: boolean | undefined;
  /**
   * Classifiers and entity models: how much time to spend on a better model (docs/few-rows.md). With up to 20,000 rows,
   * `quick` leaves the encoder as it is. `balanced` trains it if there are at least 40 rows; `thorough`, if there are
   * at least 16, and for longer if there are more than 300. Without effect if an option for training in epochs, such as
   * `epochs`, is set; a ValidationError for pairs of texts and for question answering. Default `balanced`.
   */
  readonly effort?: Effort | undefined;
  /**
   * Rules that answer wherever a pattern or a term matches (docs/rules.md). They are stored in the model's folder and
   * count in its figures, but don't change what the model learns. Default: none.
   */
  readonly rules?: readonly Rule[] | undefined;
  /** Further settings (docs/training.md). Those that question answering does not use are a ValidationError for it. */
  readonly tuning?: Tuning | undefined;
  /** Seed of all random choices. Default 0. */
  readonly seed?: number | undefined;
  /** Where to train and to run the model: `cpu`, the name of a device, or `auto`. Default `cpu`. */
  readonly device?: Device | undefined;
  /** Number of CPU threads for training. Default: one for each available processor. */
  readonly threads?: number | undefined;
  /**
   * Maximum memory that training may need, in bytes. Default: three quarters of the memory that this process may use.
   */
  readonly memoryLimit?: number | undefined;
  /**
   * Where to train: in a worker thread, in a child process, or inline in this thread, which is then blocked. Default
   * `worker`.
   */
  readonly isolation?: TrainingIsolation | undefined;
  /** Called with each event of the training. If it throws, the training stops and fails with what was thrown. */
  readonly onProgress?: ((event: TrainingEvent) => void) | undefined;
  /** Aborts the training. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Trains a model on rows in memory, in a file or in a dataset archive, and returns it open. Training runs in a worker
 * thread, as the jobs of a `Trainer` do, and starts from the backbone for the language and size unless `base` names
 * another model.
 *
 * Fails with a ValidationError or DatasetError that names each wrong option, row or line, or says that the type is
 * ambiguous; a DownloadError; a NotFoundError or ModelFolderError for `base`; a TrainingError, MemoryLimitError or
 * StorageError; an AbortedError when the signal fires. For rows that are `as const`, the compiler knows the labels of
 * the answers, unless `labels` or `base` may add others. `output` is written in one step, after the training has
 * succeeded.
 */
export function train<const Type extends ModelType>(
  options: TrainOptions & { readonly type: Type },
): ResultAsync<TrainedModel<AnswerToType<Type>>, OrchardError>;
export function train<Row extends TrainingRow>(
  options: TrainOptions<Row> & { readonly labels?: undefined; readonly base?: undefined },
): ResultAsync<TrainedModel<AnswerTo<Row>>, OrchardError>;
export function train<Row extends TrainingRow>(
  options: TrainOptions<Row>,
): ResultAsync<TrainedModel<AnswerTo<Row, string>>, OrchardError>;
export function train(options: TrainOptions): ResultAsync<TrainedModel, OrchardError> {
  const given = withAbsolutePaths(options);
  // Readers of files and all that trains are loaded where they are needed.
  const work = async () => (await import('./training/train-model.js')).trainModel(given);
  return callResult(work(), 'training a model');
}
