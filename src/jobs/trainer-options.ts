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
   * a job uses one thread if that is faster; the model is the same.
   */
  readonly threads?: number;
  /**
   * Where the jobs running here compute their training steps: `cpu`, a device by its name, or `auto`, which measures a few
   * steps of each job and uses a device only if it is faster. If a device doesn't start, or is lost, the job goes on with
   * the CPU and gets a warning. Default cpu.
   */
  readonly device?: Device;
  /**
   * Most bytes of memory that a job running here may need. Its need is estimated before it trains; a job that needs more
   * ends in ERROR, with the number of bytes. Default: three quarters of the memory that this process may use.
   */
  readonly memoryLimit?: number;
  /** Decides every random choice of the jobs created here; the same data and seed give the same model. Default 0. */
  readonly seed?: number;
  /** Choices beyond the documented training_config, for every job created here. */
  readonly tuning?: Tuning;
  /**
   * A pretrained encoder that every job created here starts from unless its `use_pretrained` is false: the name of a
   * model that `modelLoader` has and docs/backbones.md lists, with an `@revision` if it has several. Default: the model
   * `<language>-<size>` of the job's language and size, such as `english-mini`, or for entities
   * `<language>-<size>-entities` if there is one. Without such a model, training starts from random weights, with a
   * warning.
   */
  readonly backbone?: string;
  /**
   * Where the backbones of the jobs running here come from. Default: `hubModels()`, the Hugging Face Hub, for a backbone
   * that was named; else `catalogueBackbones()`, which are included.
   */
  readonly modelLoader?: ModelLoader;
  /** Whether dataset_url may be a `file:` URL, of a zip or of the unzipped folder, in jobs created here. Default true. */
  readonly allowFileUrls?: boolean;
  /**
   * Whether dataset_url may lead to a loopback, link-local or private address, itself or by a redirect, in jobs created
   * here. Set it to false if strangers choose the URLs. Default true.
   */
  readonly allowPrivateAddresses?: boolean;
  /**
   * A running job writes a checkpoint at the end of the first epoch that ends this many milliseconds after the last one,
   * and within an epoch after five minutes without one. A crash loses the work since then. Default 30,000.
   */
  readonly checkpointIntervalMs?: number;
  /** How many jobs of the account may wait; creating one more is a QueueFullError. Default 100. */
  readonly maxWaitingJobs?: number;
  /**
   * Decides which of the trainers that share a storage runs which job. All of them have to use the same queue. Default: a
   * queue in the storage itself. Stays open on close.
   */
  readonly queue?: JobQueue;
  /**
   * Whether this trainer runs jobs. A trainer that does not still creates, lists, cancels and deletes them, and others on
   * the same storage and queue run them; it sees their progress some seconds late. Default true.
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
  const msg = "an executor works only in this thread; set isolation to 'inline' and leave host out";
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
