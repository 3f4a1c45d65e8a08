import { availableParallelism } from 'node:os';
import * as z from 'zod';
import { type Account, accountSchema, LOCAL_ACCOUNT, validate } from '../contract/index.js';
import { DEVICES, type Device } from '../device-names.js';
import { ValidationError } from '../errors.js';
import type { GraphExecutor } from '../graph/index.js';
import { implementation } from '../inference/index.js';
import { type JobQueue, tuningSchema } from '../jobs/index.js';
import type { ModelLoader } from '../model-loader/index.js';
import type { Storage } from '../storage/index.js';
import type { TrainingHost, TrainingIsolation, Tuning } from '../training/index.js';
import { defaultMemoryLimit } from './memory-limit.js';

export interface TrainerOptions {
  /** Where jobs and models live. Several trainers, also of other processes, may share one. Stays open on close. */
  readonly storage: Storage;
  /** Whose jobs these are. Default: `{ app_id: 'local', tier: 'pro' }`. */
  readonly account?: Account;
  /**
   * Where training takes place: a worker thread, a child process or (blocking it) this thread. Default worker. A child
   * process takes a moment longer to start, and gives all its memory back when it ends.
   */
  readonly isolation?: TrainingIsolation;
  /**
   * Threads that the jobs running here may use. Default: the processors available. While other processes keep these busy,
   * a job computes with one where that is faster; the model is the same.
   */
  readonly threads?: number;
  /**
   * Where the jobs running here compute their training steps: `cpu`, a device by its name, or `auto`, which measures a few
   * steps of each job and takes a device only if it is faster. A device that doesn't start, or is lost, is replaced by
   * the CPU, with a warning on the job. Default cpu.
   */
  readonly device?: Device;
  /**
   * Most bytes of memory that a job running here may need. What it needs is estimated before it trains; one that needs
   * more ends in ERROR, and says how much. Default: three quarters of the memory that this process may use.
   */
  readonly memoryLimit?: number;
  /** Decides every random choice of the jobs created here; the same data and seed give the same model. Default 0. */
  readonly seed?: number;
  /** Choices beyond the documented training_config, for every job created here. */
  readonly tuning?: Tuning;
  /**
   * A pretrained encoder that every job created here starts from unless its `use_pretrained` is false: the name of a
   * model that `modelLoader` has and docs/backbones.md lists, with an `@revision` where it has several. Default: the model
   * `<language>-<size>` of the job's language and size, such as `english-mini`, or `<language>-<size>-entities` where
   * there is one for a job that learns to find entities; where there is none, training starts from random weights and warns
   * of it.
   */
  readonly backbone?: string;
  /**
   * Where the backbones of the jobs running here come from. Default: `hubModels()`, the Hugging Face Hub, for a backbone
   * that was named; else `catalogueBackbones()`, those that come along.
   */
  readonly modelLoader?: ModelLoader;
  /** Whether dataset_url may be a `file:` URL, of a zip or of the unzipped folder, in jobs created here. Default true. */
  readonly allowFileUrls?: boolean;
  /**
   * Whether dataset_url may lead to a loopback, link-local or private address, itself or by a redirect, in jobs created
   * here. Set it to false where strangers give the URLs. Default true.
   */
  readonly allowPrivateAddresses?: boolean;
  /**
   * A running job writes a checkpoint with the first epoch that ends this many milliseconds after the one before, and
   * within an epoch after five minutes without one. A crash loses what was done since. Default 30,000.
   */
  readonly checkpointIntervalMs?: number;
  /** How many jobs of the account may wait; one more is a QueueFullError. Default 100. */
  readonly maxWaitingJobs?: number;
  /**
   * Decides which of the trainers that share a storage runs which job, in place of a queue in the storage itself. All of
   * them use one such queue. Stays open on close.
   */
  readonly queue?: JobQueue;
  /**
   * Whether this trainer runs jobs. One that does not creates, lists, cancels and deletes them all the same, for others
   * on the same storage and queue to run; what it waits for it sees some seconds late. Default true.
   */
  readonly runsJobs?: boolean;
  /** Advanced: runs the training instead of the host that `isolation` names. Stays open on close. */
  readonly host?: TrainingHost;
  /**
   * Advanced: computes the training instead of ONNX Runtime, such as `tensorflowExecutor(tf)`. Only with `isolation`
   * `inline` and without `host`: it can't cross to another thread.
   */
  readonly executor?: GraphExecutor;
}

const trainerSchema = z.strictObject({
  storage: implementation<Storage>(
    ['read', 'write', 'list', 'listKeys', 'stageFolder', 'publishFolder', 'openFolder'],
    "pass a storage for jobs and models, such as fileStorage('./models'); memoryStorage() forgets them on close",
  ),
  account: accountSchema.default(LOCAL_ACCOUNT),
  isolation: z.enum(['worker', 'process', 'inline']).default('worker'),
  threads: z.int().min(1).default(availableParallelism),
  device: z.enum(DEVICES).default('cpu'),
  memoryLimit: z.int().min(1).default(defaultMemoryLimit),
  seed: z.int32().default(0),
  tuning: (tuningSchema satisfies z.ZodType<Tuning>).default({}),
  backbone: z.string().min(1, 'the name of the backbone is empty').nullable().default(null),
  modelLoader: implementation<ModelLoader>(
    ['load'],
    "pass a model loader, such as hubModels() or folderModels('./models')",
  ).optional(),
  allowFileUrls: z.boolean().default(true),
  allowPrivateAddresses: z.boolean().default(true),
  checkpointIntervalMs: z.int().min(0).default(30_000),
  maxWaitingJobs: z.int().min(1).default(100),
  queue: implementation<JobQueue>(
    ['add', 'cancel', 'work', 'close'],
    'pass a job queue; without one, the trainer keeps its queue in the storage',
  ).optional(),
  runsJobs: z.boolean().default(true),
  host: implementation<TrainingHost>(
    ['run', 'close'],
    'pass a training host, or leave it to `isolation`',
  ).optional(),
  executor: implementation<GraphExecutor>(
    ['compile'],
    'pass a graph executor, such as onnxExecutor() of orchard-nlp/graph',
  ).optional(),
});

/** The options, checked, with the defaults filled in. `backbone` is null where none was named. */
export type TrainerSettings = z.infer<typeof trainerSchema>;

/** @throws ValidationError for an unknown option, or one outside its range. */
export function trainerSettings(options: unknown): TrainerSettings {
  const settings = validate(trainerSchema, options ?? {});
  checkExecutor(settings);
  return settings;
}

function checkExecutor({ executor, host, isolation, device }: TrainerSettings): void {
  if (executor === undefined) return;
  if (device !== 'cpu') {
    const msg = 'an executor computes in place of a device; leave one of the two away';
    throw new ValidationError([{ loc: ['device'], msg, type: 'executor' }]);
  }
  if (isolation === 'inline' && host === undefined) return;
  const msg = "an executor computes in this thread alone; set isolation to 'inline' and pass no host";
  throw new ValidationError([{ loc: ['executor'], msg, type: 'needs_inline' }]);
}
