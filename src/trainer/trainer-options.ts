import { availableParallelism } from 'node:os';
import * as z from 'zod';
import { type Account, accountSchema, LOCAL_ACCOUNT, validate } from '../contract/index.js';
import { ValidationError } from '../errors.js';
import type { GraphExecutor } from '../graph/index.js';
import { catalogueBackbones, hubModels, type ModelLoader } from '../model-loader/index.js';
import type { Storage } from '../storage/index.js';
import type { TrainingHost, TrainingIsolation, Tuning } from '../training/index.js';
import type { Clock } from './clock.js';
import type { BackboneChoice } from './load-backbone.js';

export interface TrainerOptions {
  /** Where jobs and models live. Several trainers, also of other processes, may share one. Stays open on close. */
  readonly storage: Storage;
  /** Whose jobs these are. Default: `{ app_id: 'local', tier: 'pro' }`. */
  readonly account?: Account;
  /** Where training takes place: a worker thread, a child process or (blocking it) this thread. Default worker. */
  readonly isolation?: TrainingIsolation;
  /** Threads that training may use. Default: the processors available. */
  readonly threads?: number;
  /** Decides every random choice of the jobs created here; the same data and seed give the same model. Default 0. */
  readonly seed?: number;
  /** Choices beyond the documented training_config, for every job that this trainer runs. */
  readonly tuning?: Tuning;
  /**
   * A pretrained encoder that every job starts from unless its `use_pretrained` is false: the name of a BERT-family model
   * that `modelLoader` has, with an `@revision` where it has several. Default: the model `<language>-<size>` of the job's
   * language and size, such as `english-mini`; where there is none, training starts from random weights and warns of it.
   */
  readonly backbone?: string;
  /**
   * Where the backbone comes from. Default: `hubModels()`, the Hugging Face Hub, for a backbone that is named; else
   * `catalogueBackbones()`, those that come along.
   */
  readonly modelLoader?: ModelLoader;
  /** Whether dataset_url may be a `file:` URL, of a zip or of the unzipped folder. Default true. */
  readonly allowFileUrls?: boolean;
  /**
   * Whether dataset_url may lead to a loopback, link-local or private address, itself or by a redirect. Set it to false
   * where strangers give the URLs. Default true.
   */
  readonly allowPrivateAddresses?: boolean;
  /** How many jobs of the account may wait; one more is a QueueFullError. Default 100. */
  readonly maxWaitingJobs?: number;
  /** Advanced: runs the training instead of the host that `isolation` names. Stays open on close. */
  readonly host?: TrainingHost;
  /**
   * Advanced: computes the training instead of ONNX Runtime, such as `tensorflowExecutor(tf)`. Only with `isolation`
   * `inline` and without `host`: it can't cross to another thread.
   */
  readonly executor?: GraphExecutor;
  /** Advanced: the time, for tests. */
  readonly clock?: Clock;
  /** Advanced: gives UUIDs that sort by time (version 7), for tests. */
  readonly newId?: () => string;
}

const share = z.number().min(0).lt(1);
const tuningSchema = z.strictObject({
  tokenDropout: share.exactOptional(),
  labelSmoothing: share.exactOptional(),
  classWeights: z.enum(['none', 'balanced']).exactOptional(),
  quantize: z.boolean().exactOptional(),
});

const settingsSchema = z.object({
  account: accountSchema.default(LOCAL_ACCOUNT),
  isolation: z.enum(['worker', 'process', 'inline']).default('worker'),
  threads: z.int().min(1).default(availableParallelism),
  seed: z.int32().default(0),
  tuning: tuningSchema.default({}),
  backbone: z.string().min(1).optional(),
  allowFileUrls: z.boolean().default(true),
  allowPrivateAddresses: z.boolean().default(true),
  maxWaitingJobs: z.int().min(1).default(100),
});
export type TrainerSettings = z.infer<typeof settingsSchema>;

/** The options that are plain data, checked, with the defaults filled in. @throws ValidationError */
export function trainerSettings(options: TrainerOptions): TrainerSettings {
  const settings = validate(settingsSchema, options);
  if (settings.isErr()) throw settings.error;
  checkExecutor(options, settings.value);
  return settings.value;
}

function checkExecutor({ executor, host }: TrainerOptions, { isolation }: TrainerSettings): void {
  if (executor === undefined || (isolation === 'inline' && host === undefined)) return;
  const msg = "an executor computes in this thread alone; set isolation to 'inline' and pass no host";
  throw new ValidationError([{ loc: ['executor'], msg, type: 'needs_inline' }]);
}

/** What jobs start from, and where it comes from. @throws ValidationError for a wrong environment of the Hub's */
export function backboneChoice({ backbone, modelLoader }: TrainerOptions): BackboneChoice {
  if (backbone === undefined) return { loader: modelLoader ?? catalogueBackbones() };
  return { name: backbone, loader: modelLoader ?? hubModels() };
}
