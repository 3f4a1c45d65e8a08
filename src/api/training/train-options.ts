import * as z from 'zod';
import {
  DEVICES,
  type Device,
  implementation,
  type ModelSize,
  type ModelType,
  modelSizes,
  modelTypeSchema,
  validate,
} from '../../contract/index.js';
import {
  type Columns,
  columnsSchema,
  invalid,
  type Rows,
  type RowsOrPath,
  type TrainingRow,
} from '../../datasets/index.js';
import { type TrainingEvent, tuningSchema } from '../../jobs/index.js';
import type { ModelLoader } from '../../models/index.js';
import type { TrainingIsolation, Tuning } from '../../training/index.js';

/** What `train` takes. */

/** What to train on, and how. One of `rows`, `path` and `url` says on what. */
export interface TrainOptions<Row extends TrainingRow = TrainingRow> {
  /** Examples, all with the same fields. */
  readonly rows?: Rows<Row> | undefined;
  /** A CSV, TSV, JSON Lines or CoNLL file of examples, or a dataset archive: a zip or its unpacked folder. */
  readonly path?: string | undefined;
  /** The http or https URL of a dataset archive's zip. */
  readonly url?: string | undefined;
  /** What a file's columns are called. Default: as the fields of rows. */
  readonly columns?: Columns | undefined;
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

const path = z.string().min(1, 'the path is empty').optional();
const rows = z.custom<Rows>((value) => typeof value === 'object' && value !== null, {
  error: 'give an array or an iterable of rows',
});
const rowsOrPath = z.union([z.string().min(1, 'the path is empty'), rows]);
export const trainSchema = z.strictObject({
  rows: rows.optional(),
  path,
  url: z.string().min(1, 'the URL is empty').optional(),
  columns: columnsSchema.optional(),
  passages: z.custom<Iterable<string>>(isIterable, { error: 'give an array of texts' }).optional(),
  type: modelTypeSchema.optional(),
  name: z
    .string()
    .regex(/^[a-z0-9-]{1,24}$/, 'give 1 to 24 characters of a–z, 0–9 and "-"')
    .optional(),
  base: z.string().min(1, 'the name is empty').optional(),
  modelLoader: implementation<ModelLoader>(['load'], 'pass a model loader, such as hubModels()').optional(),
  size: z.enum(modelSizes).default('mini'),
  output: path,
  dev: rowsOrPath.optional(),
  devFraction: z.number().gt(0).lt(1).optional(),
  test: rowsOrPath.optional(),
  epochs: z.int().min(1).max(1000).optional(),
  learningRate: z.number().positive().max(1).optional(),
  batchSize: z.int().min(1).max(1024).optional(),
  language: z.string().min(1).max(40).optional(),
  lowercase: z.boolean().optional(),
  augment: z.boolean().optional(),
  pretrained: z.boolean().optional(),
  tuning: (tuningSchema satisfies z.ZodType<Tuning>).optional(),
  seed: z.int32().default(0),
  device: z.enum(DEVICES).default('cpu'),
  threads: z.int().min(1).optional(),
  memoryLimit: z.int().min(1).optional(),
  isolation: z.enum(['worker', 'process', 'inline']).default('worker'),
  onProgress: callback<(event: TrainingEvent) => void>().optional(),
  signal: z.instanceof(AbortSignal).optional(),
});

/** The options, checked, with the defaults filled in. */
export type TrainSettings = z.infer<typeof trainSchema> & { readonly source: TrainSource };

/** What to train on: exactly one of three. */
type TrainSource =
  | { readonly kind: 'rows'; readonly rows: Rows }
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'url'; readonly url: string };

/** @throws ValidationError */
export function trainSettings(options: unknown): TrainSettings {
  return settingsFrom(validate(trainSchema, options ?? {}));
}

/** Options that were checked, with what they say to train on. @throws ValidationError unless they say one thing */
export function settingsFrom(options: z.infer<typeof trainSchema>): TrainSettings {
  return { ...options, source: sourceOf(options) };
}

/** A function of the application's. */
export function callback<Call>() {
  return z.custom<Call>((value) => typeof value === 'function', { error: 'give a function' });
}

function isIterable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Symbol.iterator in value;
}

function sourceOf({ rows, path, url }: z.infer<typeof trainSchema>): TrainSource {
  const given = [rows, path, url].filter((each) => each !== undefined).length;
  if (given === 1 && rows !== undefined) return { kind: 'rows', rows };
  if (given === 1 && path !== undefined) return { kind: 'path', path };
  if (given === 1 && url !== undefined) return { kind: 'url', url };
  const what = given === 0 ? 'nothing to train on' : 'several sources of examples';
  throw invalid(['rows'], `${what}; give one of rows, path and url`);
}
