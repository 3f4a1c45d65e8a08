import { availableParallelism, totalmem } from 'node:os';
import * as z from 'zod';
import {
  type Account,
  accountSchema,
  DEVICES,
  type Device,
  implementation,
  LOCAL_ACCOUNT,
  ValidationError,
  validate,
} from '../contract/index.js';
import type { GraphExecutor } from '../graph/index.js';
import type { ModelLoader } from '../models/index.js';
import { type Storage, withStorageErrors } from '../storage/index.js';
import type { TrainingHost, TrainingIsolation, Tuning } from '../training/index.js';
import { type Clock, systemClock } from './clock.js';
import type { JobQueue } from './job-queue.js';
import { tuningSchema } from './job-record.js';

/** Options of a `Trainer`. */
export interface TrainerOptions {
  /**
   * Where jobs and models are stored. Several trainers, also of other processes, may share one storage. Stays open on
   * close.
   */
  readonly storage: Storage;
  /** The account that owns the jobs. Default: `{ app_id: 'local', tier: 'pro' }`. */
  readonly account?: Account;
  /**
   * Where to train: in a worker thread, in a child process, or inline in this thread, which is then blocked. Default
   * worker. A child process takes a moment longer to start, and gives all its memory back when it ends.
   */
  readonly isolation?: TrainingIsolation;
  /**
   * Number of CPU threads for the jobs that run here. Default: one for each available processor. While other processes
   * use the processors, the threads of a job spin or sleep, whichever is faster; the model is the same.
   */
  readonly threads?: number;
  /**
   * Where the jobs that run here compute their training steps: `cpu`, the name of a device, or `auto`, which measures a
   * few steps of each job and uses a device only if it is faster. If a device doesn't start, or is lost, the job
   * continues on the CPU and gets a warning. Default cpu.
   */
  readonly device?: Device;
  /**
   * Maximum memory that a job may need here, in bytes. The need of a job is estimated before it trains; a job that
   * needs more ends in ERROR, with a message that says how much. Default: three quarters of the memory that this
   * process may use.
   */
  readonly memoryLimit?: number;
  /** Seed of all random choices of the jobs created here. The same data and seed give the same model. Default 0. */
  readonly seed?: number;
  /** Settings beyond the documented training_config, for every job created here. */
  readonly tuning?: Tuning;
  /**
   * A pretrained encoder that every job created here starts from unless its `use_pretrained` is false: the name of a
   * model that `modelLoader` has and that docs/backbones.md lists, with an `@revision` if there are several. Default:
   * the model `<language>-<size>` of the job's language and size, such as `english-mini`, or for entities
   * `<language>-<size>-entities` if there is one. Without such a model, training starts from random weights, with a
   * warning.
   */
  readonly backbone?: string;
  /**
   * Loads the backbones of the jobs that run here. Default: `hubModels()`, the Hugging Face Hub, if `backbone` is
   * given; otherwise `catalogueBackbones()`.
   */
  readonly modelLoader?: ModelLoader;
  /** Whether dataset_url may be a `file:` URL, of a zip or of the unzipped folder, in jobs created here. Default true. */
  readonly allowFileUrls?: boolean;
  /**
   * Whether dataset_url may lead to a loopback, link-local or private address, directly or by a redirect, in jobs
   * created here. Set it to false if untrusted users choose the URLs. Default true.
   */
  readonly allowPrivateAddresses?: boolean;
  /**
   * Minimum milliseconds between checkpoints. A running job writes one at the end of the first epoch after this time,
   * and within an epoch after five minutes without one. A crash loses the work since the last checkpoint. Default
   * 30,000.
   */
  readonly checkpointIntervalMs?: number;
  /** Maximum number of waiting jobs of the account. Creating one more fails with a QueueFullError. Default 100. */
  readonly maxWaitingJobs?: number;
  /**
   * Decides which of the trainers that share a storage runs which job. All of them have to use the same queue. Default: a
   * queue in the storage itself. Stays open on close.
   */
  readonly queue?: JobQueue;
  /**
   * Whether this trainer runs jobs. If false, it still creates, lists, cancels and deletes jobs, while others with the
   * same storage and queue run them; it sees their progress some seconds late. Default true.
   */
  readonly runsJobs?: boolean;
  /** Advanced: runs the training instead of the host that `isolation` names. Stays open on close. */
  readonly host?: TrainingHost;
  /**
   * Advanced: computes the training instead of ONNX Runtime, such as `tensorflowExecutor(tf)`. Only with `isolation`
   * `inline` and without `host`, as it can't move to another thread.
   */
  readonly executor?: GraphExecutor;
}

const trainerSchema = z.lazy(() =>
  z.strictObject({
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
    host: implementation<TrainingHost>(['run', 'close'], 'pass a training host, or leave it to `isolation`').optional(),
    executor: implementation<GraphExecutor>(
      ['compile'],
      'pass a graph executor, such as onnxExecutor() of orchard-nlp/graph',
    ).optional(),
  }),
);

/** The options, checked, with the defaults filled in. `backbone` is null where none was named. */
export type TrainerSettings = z.infer<typeof trainerSchema>;

/** @throws ValidationError for an unknown option, or one outside its range. */
export function trainerSettings(options: unknown): TrainerSettings {
  const settings = validate(trainerSchema, options ?? {});
  checkExecutor(settings);
  return { ...settings, storage: withStorageErrors(settings.storage) };
}

function checkExecutor({ executor, host, isolation, device }: TrainerSettings): void {
  if (executor === undefined) return;
  if (device !== 'cpu') {
    const msg = 'an executor replaces the device; leave one of the two out';
    throw new ValidationError([{ loc: ['device'], msg, type: 'executor' }]);
  }
  if (isolation === 'inline' && host === undefined) return;
  const msg = "an executor works only in this thread; set `isolation: 'inline'` and leave `host` out";
  throw new ValidationError([{ loc: ['executor'], msg, type: 'needs_inline' }]);
}

/** Three quarters of the memory that this process may use: the machine's, or less in a container. In bytes. */
export function defaultMemoryLimit(): number {
  const constrained = process.constrainedMemory();
  const allowed = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  return Math.floor(0.75 * allowed);
}

/** What tests replace. */
const given = new WeakMap<object, { readonly clock: Clock }>();

/** The same options, for a trainer with another clock. For tests; no entry of the package exports it. */
export function withInternals<Options extends object>(options: Options, internals: { readonly clock: Clock }): Options {
  const own = { ...options };
  given.set(own, internals);
  return own;
}

export function internalsOf(options: object): { readonly clock: Clock } {
  return given.get(options) ?? { clock: systemClock };
}
