import type { ResultAsync } from 'neverthrow';
import { callResult, type Device, type ModelSize, type ModelType, type OrchardError } from '../contract/index.js';
import type { ReadingOptions, Rows, RowsOrPath, TrainingRow } from '../datasets/index.js';
import type { TrainingEvent } from '../jobs/index.js';
import type { ModelLoader, Rule } from '../models/index.js';
import type { Effort, TrainingIsolation, Tuning } from '../training/index.js';
import type { AnswerTo, AnswerToType } from './answers.js';
import type { TrainedModel } from './model.js';
import { withAbsolutePaths } from './paths.js';

/** What to train on, and how. One of `rows`, `path` and `url` says on what, or `labels` alone. */
export interface TrainOptions<Row extends TrainingRow = TrainingRow> extends ReadingOptions {
  /** Examples, all with the same fields. */
  readonly rows?: Rows<Row> | undefined;
  /** A file of examples (docs/files.md), or a dataset archive: a zip or its unpacked folder. */
  readonly path?: string | undefined;
  /** The http or https URL of a dataset archive's zip. */
  readonly url?: string | undefined;
  /**
   * Classifiers: the labels, in the order of their ids, or what each of them means in words, which is evidence too. Without
   * rows, a first classifier is made of it alone, for the time until there are some. Default: those that the rows have.
   */
  readonly labels?: readonly string[] | Readonly<Record<string, string>> | undefined;
  /**
   * Classifiers that choose between two labels: the one that every `f1` of the training is of, such as the rare one that
   * matters. Default: the second one.
   */
  readonly positive?: string | undefined;
  /** Question answering: passages to search besides those of the rows. Default: none. */
  readonly passages?: Iterable<string> | undefined;
  /** Default: the type that fits the data, which `training.reason` of the model explains. */
  readonly type?: ModelType | undefined;
  /** 1 to 24 characters of a–z, 0–9 and `-`. Default: by the file's name, else `model`. */
  readonly name?: string | undefined;
  /**
   * Where training starts: the folder of a model or backbone, a pretrained model or backbone by its name, or `owner/name`
   * of the Hugging Face Hub. Its encoder learns on; labels may be other ones. Default: the backbone of language and size.
   */
  readonly base?: string | undefined;
  /** Where `base` comes from, if it is not a folder. Default: catalogue, backbones and, for `owner/name`, the Hub. */
  readonly modelLoader?: ModelLoader | undefined;
  /** Default `mini`. */
  readonly size?: ModelSize | undefined;
  /** A folder to write the model to. It must not exist, be empty, or hold a model, which is replaced. Default: none. */
  readonly output?: string | undefined;
  /** Examples to choose the best epoch by. Default: `devFraction` of the rows. Archives bring their own. */
  readonly dev?: RowsOrPath<Row> | undefined;
  /** Share of the rows to set aside for dev, above 0 and below 1. Default 0.1. */
  readonly devFraction?: number | undefined;
  /** Examples that the model is judged by once it is trained: `training.test` has the figures. Default: none. */
  readonly test?: RowsOrPath<Row> | undefined;
  /** Default: by family and number of rows. */
  readonly epochs?: number | undefined;
  /** Default: by size or backbone. */
  readonly learningRate?: number | undefined;
  /** Rows in each step. Default 32, or 16 below 2,000 rows. */
  readonly batchSize?: number | undefined;
  /** An English name or a code such as `en-GB`. Default `english`. */
  readonly language?: string | undefined;
  /** Fold texts to lower case. Default true, or as the backbone reads. */
  readonly lowercase?: boolean | undefined;
  /** Add edited copies of rows. Default false. */
  readonly augment?: boolean | undefined;
  /** False starts from random weights. Default true. */
  readonly pretrained?: boolean | undefined;
  /**
   * Classifiers: how much time training may take to make the model better. `quick` leaves the encoder as it is; `balanced`
   * trains it where that makes up for its time; `thorough` trains it from fewer rows on. Default `balanced`.
   */
  readonly effort?: Effort | undefined;
  /**
   * What the model answers wherever a pattern or a term matches (docs/rules.md). They are kept in its folder and count in its
   * figures; what it learns is the same. Default: none.
   */
  readonly rules?: readonly Rule[] | undefined;
  /** Choices beyond these (docs/training.md). */
  readonly tuning?: Tuning | undefined;
  /** Decides every random choice. Default 0. */
  readonly seed?: number | undefined;
  /** Where training and the model compute: `cpu`, a device by its name, or `auto`. Default `cpu`. */
  readonly device?: Device | undefined;
  /** Threads to train with. Default: the processors available. */
  readonly threads?: number | undefined;
  /** Most bytes of memory that training may need. Default: three quarters of what this process may use. */
  readonly memoryLimit?: number | undefined;
  /** A worker thread, a child process or (blocking it) this thread. Default `worker`. */
  readonly isolation?: TrainingIsolation | undefined;
  /** Called with each event of the training. What it throws stops the training, and is its error. */
  readonly onProgress?: ((event: TrainingEvent) => void) | undefined;
  /** Stops the training. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Trains a model on examples in memory, in a file, or in a dataset archive, and gives it open. The same jobs train it as
 * the documented Trainer's, in a worker thread, from the backbone of its language and size unless `base` names a model.
 *
 * Fails with a ValidationError or DatasetError that names each option, row or line that is wrong, or a type that the data
 * doesn't settle; a DownloadError; a NotFoundError or ModelFolderError for `base`; a TrainingError, MemoryLimitError or
 * StorageError; an AbortedError when the signal fires. Of rows that are `as const`, the compiler knows the labels of the
 * answers, unless `labels` or `base` may add others. `output` is written once the training has succeeded, and whole.
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
