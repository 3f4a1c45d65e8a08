import { availableParallelism, totalmem } from 'node:os';
import type { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import {
  accountSchema,
  DEVICES,
  type Device,
  type InferenceResponse,
  implementation,
  LOCAL_ACCOUNT,
  type OrchardError,
  querySchema,
  validate,
} from '../contract/index.js';
import type { JudgedResult } from '../families/index.js';
import type { DeviceInformation } from '../graph/index.js';
import { catalogueModels, type FoundModel, type ModelLoader } from '../models/index.js';
import { type CallOptions, queryResponse, requestOptions, toResult } from './calls.js';
import { Dispatcher } from './dispatcher.js';
import type { InferenceService } from './inference-service.js';
import { ThreadWorker } from './thread-worker.js';
import type { InferenceWorker } from './worker.js';

/** A worker whose code is loaded on first use. */
function lazyWorker(load: () => Promise<InferenceWorker>): InferenceWorker {
  let loading: Promise<InferenceWorker> | undefined;
  const loaded = () => {
    loading ??= load();
    return loading;
  };
  return {
    run: async (batch) => (await loaded()).run(batch),
    resume: async (id, alone) => (await loaded()).resume(id, alone),
    cancel: (id, positions) => void loading?.then((worker) => worker.cancel(id, positions)),
    load: async (directory) => (await loaded()).load(directory),
    forget: (directory) => void loading?.then((worker) => worker.forget(directory)),
    abandon: (reason) => void loading?.then((worker) => worker.abandon(reason)),
    rest: () => void loading?.then((worker) => worker.rest()),
    close: async () => (await loading)?.close(),
  };
}

/** How models are run. */
export interface ServiceOptions {
  /** `worker` (default): worker threads. `inline`: the calling thread, which each run then blocks. */
  readonly isolation?: 'worker' | 'inline';
  /**
   * Most worker threads. A model stays in the thread that loaded it until there are so many requests that loading it in
   * another one pays; idle threads that have it share the texts of a batch. Default: one for each processor that the
   * process may use, 4 at most; one if `device` names a device, since threads can only take turns on it.
   */
  readonly workers?: number;
  /**
   * Most threads that compute one text while no other request waits, if the service has measured that several are faster.
   * Everything else is computed with one. Default: one for each processor, 4 at most.
   */
  readonly threads?: number;
  /**
   * Where models compute: `cpu`, a device by its name, or `auto`, which measures each model when it is loaded and takes a
   * device only if it is faster for a short text and for many. A device that fails is replaced by the CPU, as `stats` shows.
   * Default cpu.
   */
  readonly device?: Device;
  /**
   * Most memory of loaded models and the texts of requests together, in bytes, estimated from the models' files and the
   * texts' lengths. The least recently used models are unloaded first. Requests that would take more fail with an
   * OverloadedError, and a model that is larger than the limit with a MemoryLimitError. The process itself takes about
   * 100 MiB more, and 20 MiB per worker. Default: half of the memory that the process may use, at most 4 GiB.
   */
  readonly memoryLimit?: number;
  /**
   * After this many milliseconds without a request, the threads end and free their memory; models are loaded again on the
   * next request. Default 10 minutes; Infinity keeps them.
   */
  readonly idleMs?: number;
  /** Most waiting texts; a request for more fails with an OverloadedError. Default 2,000. */
  readonly maxWaiting?: number;
}

/** How a predictor or medley runs models. */
export interface RunOptions extends ServiceOptions {
  /**
   * A service to run the models in, instead of one made from the other options. Several predictors and medleys can share a
   * service and its loaded models. It stays open when they are closed.
   */
  readonly inference?: InferenceService;
}

/** With more threads, memory bandwidth limits small encoders more than processors do. */
const PROCESSORS = Math.min(4, availableParallelism());

const MAX_DEFAULT_MEMORY = 4 * 2 ** 30;

/** Without a container's limit, `constrainedMemory` is 0 or larger than the memory. */
function defaultMemoryLimit(): number {
  const allowed = process.constrainedMemory() || Number.POSITIVE_INFINITY;
  return Math.floor(Math.min(MAX_DEFAULT_MEMORY, Math.min(allowed, totalmem()) / 2));
}

const serviceSchema = z.strictObject({
  isolation: z.enum(['worker', 'inline']).default('worker'),
  workers: z.int().min(1).optional(),
  threads: z.int().min(1).default(PROCESSORS),
  device: z.enum(DEVICES).default('cpu'),
  memoryLimit: z.int().min(1).default(defaultMemoryLimit),
  idleMs: z.number().min(1).or(z.literal(Number.POSITIVE_INFINITY)).default(600_000),
  maxWaiting: z.int().min(1).default(2000),
});
type ServiceSettings = z.infer<typeof serviceSchema>;

export const runSchema = serviceSchema.extend({
  inference: implementation<InferenceService>(
    ['predict', 'warm', 'forget', 'stats', 'close'],
    'pass an inference service, such as inferenceService()',
  ).optional(),
  modelLoader: implementation<ModelLoader>(
    ['load'],
    "pass a model loader, such as catalogueModels() or folderModels('./models')",
  ).default(() => catalogueModels()),
  account: accountSchema.default(LOCAL_ACCOUNT),
});

/** A service with these options, for several predictors and medleys. @throws ValidationError */
export function inferenceService(options: ServiceOptions = {}): InferenceService {
  return createService(validate(serviceSchema, options));
}

export function createService({ isolation, workers, threads, device, ...settings }: ServiceSettings): InferenceService {
  // Loaded with the first model.
  const sizeOf = async (directory: string) => (await import('./model-size.js')).memoryOfFolder(directory);
  if (isolation === 'inline') {
    const load = async () => new (await import('./inline-worker.js')).InlineWorker({ threads, device });
    return new Dispatcher([lazyWorker(load)], { ...settings, sizeOf });
  }
  const length = workers ?? (device === 'cpu' || device === 'auto' ? PROCESSORS : 1);
  const threadWorkers = Array.from({ length }, () => new ThreadWorker({ threads, device }));
  // Starts ahead of the first request.
  threadWorkers[0]?.start();
  return new Dispatcher(threadWorkers, { ...settings, sizeOf });
}

/** How a model is opened. */
export interface OpenOptions {
  readonly service: ServiceOptions;
  /** Called after the model is closed, to remove temporary files. */
  readonly onClose?: (() => Promise<void>) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * An inference service that has loaded one model.
 * @throws ValidationError, ModelFolderError, MemoryLimitError, AbortedError
 */
export async function serviceFor(
  { name, directory }: FoundModel,
  { service, signal }: Pick<OpenOptions, 'service' | 'signal'>,
): Promise<InferenceService> {
  const opened = inferenceService(service);
  const warmed = await toResult(`loading ${name}`, signal, () => opened.warm(directory));
  if (warmed.isOk()) return opened;
  await opened.close();
  throw warmed.error;
}

/** The result of the model in a folder for one text. */
export function askFolder(
  service: InferenceService,
  { name, directory }: FoundModel,
  text: string,
  options: CallOptions,
): ResultAsync<InferenceResponse<JudgedResult>, OrchardError> {
  return toResult(`asking model ${name}`, options.signal, async () => {
    const queries = [validate(querySchema, text, ['query'])];
    const request = requestOptions(options, LOCAL_ACCOUNT.app_id);
    return queryResponse(await service.predict(directory, queries, request));
  });
}

/**
 * The values of the option `device` on this machine: each device that the installed ONNX Runtime knows is tried with a small
 * matrix product, which takes a few hundred milliseconds and blocks the calling thread for part of them. Devices that are
 * not available are listed with the reason. Rejects only if the runtime can't be loaded.
 */
export async function listDevices(): Promise<readonly DeviceInformation[]> {
  // An application that runs models in threads doesn't load the runtime.
  const graph = await import('../graph/index.js');
  return graph.listDevices();
}
