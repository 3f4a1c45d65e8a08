import { availableParallelism, totalmem } from 'node:os';
import { clearInterval, clearTimeout, setInterval, setTimeout } from 'node:timers';
import { runInThisContext } from 'node:vm';
import * as z from 'zod';
import {
  AbortedError,
  accountSchema,
  ClosedError,
  DEVICES,
  DeadlineError,
  type Device,
  implementation,
  LOCAL_ACCOUNT,
  OverloadedError,
  RUNTIMES,
  type Runtime,
  ValidationError,
  validate,
} from '../contract/index.js';
import type { DeviceInformation } from '../graph/index.js';
import { catalogueModels, type ModelLoader, memoryOfFolder } from '../models/index.js';
import { onAbort } from '../system/index.js';
import { BatchScheduler, charactersOf } from './batch-scheduler.js';
import { MAX_TIMER_MS } from './calls.js';
import type { InferenceService, InferenceStats, ModelStats, Predictions, RequestOptions } from './inference-service.js';
import type { WorkerOptions } from './inline-worker.js';
import { openProcess, RemoteWorker } from './remote-worker.js';
import { PendingRequest, RequestQueue, type Waiting } from './request-queue.js';
import { type RequestTrace, traceLoad, tracePredict } from './tracing.js';
import type { InferenceWorker } from './worker.js';
import { ModelMemory, type ModelSize, PooledWorker, WorkerPool } from './worker-pool.js';

/** How often workers are checked while any of them is busy, in milliseconds. */
const TICK_MS = 1000;

/** Longest time for one slice of work, in milliseconds. */
interface Timeouts {
  readonly runMs: number;
  /** When the slice includes loading a model. */
  readonly loadMs: number;
}

/** Slices end after about 40 ms, between steps of at most a second: a worker that takes a minute hangs. */
const TIMEOUTS: Timeouts = { runMs: 60_000, loadMs: 300_000 };

interface WatchOptions {
  readonly tick: () => void;
  /** After this time without work, workers free their memory. */
  readonly idleMs: number;
  readonly timeouts?: Timeouts | undefined;
}

/** Replaces workers that hang, lets others take over waiting work, and frees the memory of workers idle for long. */
class Watchdog {
  readonly #workers: readonly PooledWorker[];
  readonly #options: WatchOptions;
  #timer: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(workers: readonly PooledWorker[], options: WatchOptions) {
    this.#workers = workers;
    this.#options = options;
  }

  /** Starts to watch; call it with each request. */
  start(): void {
    if (this.#timer !== undefined) return;
    this.stop();
    this.#timer = setInterval(() => this.#look(), TICK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    clearTimeout(this.#idle);
    this.#timer = undefined;
    this.#idle = undefined;
  }

  #wait(): void {
    this.stop();
    const rest = () => {
      for (const worker of this.#workers) if (!worker.isBusy && worker.unfinished === 0) worker.rest();
    };
    if (this.#options.idleMs <= MAX_TIMER_MS) this.#idle = setTimeout(rest, this.#options.idleMs).unref();
  }

  #look(): void {
    this.#options.tick();
    const busy = this.#workers.filter(({ isBusy }) => isBusy);
    if (busy.length === 0) this.#wait();
    const now = performance.now();
    for (const { thread, loading, busySince } of busy) {
      const { loadMs, runMs } = this.#options.timeouts ?? TIMEOUTS;
      const ms = loading !== undefined ? loadMs : runMs;
      if (now - busySince <= ms) continue;
      const what = loading !== undefined ? 'loading a model' : 'its work';
      thread.abandon(`an inference worker did not finish ${what} within ${ms / 1000} s and was replaced`);
    }
  }
}

/** Most characters that may wait, for any number of texts. */
const MAX_WAITING_CHARACTERS = 2 ** 24;
/** Memory per character of a waiting text, and of a running one with its tokens, windows and outputs. */
const WAITING_BYTES = 2;
const RUNNING_BYTES = 100;

function sum(some: Waiting, others: Waiting): Waiting {
  return { texts: some.texts + others.texts, characters: some.characters + others.characters };
}

/** The share that texts take of what may wait: of the texts or of the characters, whichever is larger. */
function shareOf({ texts, characters }: Waiting, maxWaiting: number): number {
  return Math.max(texts / maxWaiting, characters / MAX_WAITING_CHARACTERS);
}

/** How long closing waits for unanswered requests. */
export const CLOSE_MS = 10_000;
const IDLE_MS = 600_000;

export interface DispatcherOptions {
  readonly maxWaiting: number;
  /** Most waiting texts of an account. Default: `maxWaiting`. */
  readonly maxWaitingPerAccount?: number | undefined;
  /** Most memory of models and texts together, in bytes. Default: no limit. */
  readonly memoryLimit?: number;
  /** Default: 0 for models that are not loaded. */
  readonly sizeOf?: ModelSize;
  /** Default 10 s. */
  readonly closeMs?: number;
  /** Time without requests after which threads end and free their memory. Default 10 minutes. */
  readonly idleMs?: number;
  readonly timeouts?: Timeouts;
  /** The calling thread, for short texts that are asked alone. Default: workers run every text. */
  readonly here?: InferenceWorker;
}

/** A model that takes more memory is not loaded in the calling thread: even its short texts would block it for too long. */
const MOST_HERE_BYTES = 100 * 2 ** 20;
/** The calling thread answers a text that is expected to take this many milliseconds at most. */
const HERE_MS = 1;
/** The same before the model's speed is known, in units of work: some 150 characters. */
const HERE_WORK = 200;

/**
 * Passes texts to workers, model by model, first in, first out. Texts of one turn of the event loop share batches. A short
 * text that is asked while nothing else waits or runs is answered in the calling thread, if its model was loaded there.
 */
export class Dispatcher implements InferenceService {
  readonly #queue = new RequestQueue();
  readonly #workers: readonly PooledWorker[];
  readonly #here: PooledWorker | undefined;
  /** Folders of the models that the calling thread has, or loads again when it is asked. */
  readonly #modelsHere = new Set<string>();
  readonly #pool: WorkerPool;
  readonly #memory: ModelMemory;
  readonly #scheduler: BatchScheduler;
  readonly #watch: Watchdog;
  readonly #maxWaiting: number;
  readonly #accountShare: number;
  readonly #closeMs: number;
  readonly #requests = { answered: 0, refused: 0, cancelled: 0, failed: 0 };
  /** Requests whose models are being measured. */
  readonly #arriving = new Map<PendingRequest, Promise<void>>();
  /** Folders to forget once no request for their models is left. */
  readonly #forgotten = new Set<string>();
  #isScheduled = false;
  #closing: Promise<void> | undefined;

  constructor(workers: readonly InferenceWorker[], options: DispatcherOptions) {
    const { maxWaiting, memoryLimit = Number.POSITIVE_INFINITY, sizeOf = () => 0, here } = options;
    this.#maxWaiting = maxWaiting;
    this.#accountShare = (options.maxWaitingPerAccount ?? Number.POSITIVE_INFINITY) / maxWaiting;
    this.#closeMs = options.closeMs ?? CLOSE_MS;
    const threads = workers.map((worker) => new PooledWorker(worker));
    this.#here = here && new PooledWorker(here);
    this.#workers = this.#here ? [...threads, this.#here] : threads;
    this.#memory = new ModelMemory(memoryLimit, this.#workers, sizeOf, () => this.#textBytes);
    this.#pool = new WorkerPool(threads, this.#memory, this.#here);
    this.#scheduler = new BatchScheduler(this.#queue, this.#pool, this.#memory, {
      idle: () => {
        this.#schedule();
        if (this.#forgotten.size > 0) this.#forgetAgain();
      },
      answered: (request, predictions) => {
        if (request.lacksThreshold) this.#fail(request, withoutThreshold());
        else if (this.#end(request, 'answered')) request.resolve(predictions);
      },
      failed: (request, thrown) => this.#fail(request, thrown),
    });
    const tick = () => this.#scheduler.start();
    const { idleMs = IDLE_MS, timeouts } = options;
    this.#watch = new Watchdog(this.#workers, { tick, idleMs, timeouts });
  }

  predict(
    directory: string,
    texts: readonly string[],
    { signal, deadlineMs, account, explain, noneOfThese, rules }: RequestOptions = {},
  ): Promise<Predictions> {
    const ask = (trace: RequestTrace | undefined) =>
      new Promise<Predictions>((resolve, reject) => {
        const request = new PendingRequest(directory, texts, resolve, reject, account);
        this.#checkOpen();
        if (signal?.aborted) throw new AbortedError('inference', { cause: signal.reason });
        if (texts.length === 0) return resolve({ results: [], elapsedMs: 0, truncated: [] });
        this.#checkRoom(request);
        const measuring = this.#memory.measure(directory);
        request.trace = trace;
        request.explain = explain;
        request.rules = rules;
        request.noneOfThese = noneOfThese ?? false;
        if (signal !== undefined) this.#watchSignal(signal, request);
        if (deadlineMs !== undefined) this.#watchDeadline(deadlineMs, request);
        if (measuring === undefined) this.#begin(request);
        else this.#arriving.set(request, this.#beginAfter(measuring, request));
      });
    return tracePredict(directory, texts.length, ask);
  }

  /** @param version of the folder, which is never loaded as another one. Default: as it is whenever it is loaded. */
  async warm(directory: string, version?: string): Promise<void> {
    this.#checkOpen();
    await this.#memory.measure(directory);
    this.#checkOpen();
    const worker = this.#threadToLoad(directory);
    if (worker === undefined) return;
    if (!worker.models.has(directory)) this.#memory.makeRoomFor(directory);
    const startedAt = performance.now();
    this.#watch.start();
    const figures = this.#pool.figuresOf(directory);
    figures.pinned = version;
    const expected = this.#pool.versionOf(directory);
    const { ms, version: loaded } = await worker.load(directory, this.#memory.bytesOf(directory), expected);
    this.#schedule();
    figures.version = loaded;
    if (ms === 0) return;
    figures.loadMs = ms;
    traceLoad(directory, startedAt, ms);
  }

  /** A model that fits twice is loaded here: workers load it when there is more to do. */
  #threadToLoad(directory: string): PooledWorker | undefined {
    const here = this.#here;
    const isHere = here && this.#memory.bytesOf(directory) <= MOST_HERE_BYTES && this.#memory.hasRoomFor(directory, 2);
    if (!isHere) return this.#pool.workerToLoad(directory);
    this.#modelsHere.add(directory);
    return here;
  }

  /** The calling thread, if it should answer this request. */
  #threadForAlone(request: PendingRequest): PooledWorker | undefined {
    const here = this.#here;
    const { directory, texts, explain } = request;
    if (here === undefined || here.isBusy || texts.length > 1 || explain !== undefined) return undefined;
    if (!this.#modelsHere.has(directory) || !this.#scheduler.isIdle || this.#arriving.size > 0) return undefined;
    const { leastWorkMs } = this.#pool.figuresOf(directory);
    const work = request.workOf(0);
    if (leastWorkMs === 0 ? work > HERE_WORK : work * leastWorkMs > HERE_MS) return undefined;
    if (here.models.has(directory)) return here;
    const isElsewhere = this.#pool.workersWith(directory).length > 0;
    return !isElsewhere && this.#memory.makeRoomFor(directory) ? here : undefined;
  }

  forget(directory: string): void {
    this.#modelsHere.delete(directory);
    this.#pool.forget(directory);
    // Earlier requests may load it again.
    if (this.#isAsked(directory)) this.#forgotten.add(directory);
  }

  stats(): InferenceStats {
    return {
      waitingRequests: this.#queue.waitingRequests,
      waitingTexts: this.#queue.waiting.texts,
      runningTexts: this.#scheduler.begun.reduce((sum, { items }) => sum + items.length, 0),
      requests: { ...this.#requests },
      texts: this.#scheduler.texts,
      stages: this.#scheduler.stages,
      memory: this.#memory.stats,
      models: [...this.#pool.figures].map(([directory, { texts, textMs }]) => ({
        directory,
        workers: this.#workers.filter((worker) => worker.models.has(directory)).length,
        waitingTexts: this.#queue.waitingFor(directory),
        texts,
        textMs,
        ...this.#placeOf(directory),
      })),
      workers: this.#workers.map(({ isBusy, models }) => ({ busy: isBusy, models: models.size })),
    };
  }

  #placeOf(directory: string): Omit<ModelStats, 'directory' | 'workers' | 'waitingTexts' | 'texts' | 'textMs'> {
    const worker = this.#workers.find(({ models }) => models.has(directory));
    const { deviceUse, runtimeUse } = worker?.models.get(directory) ?? {};
    const { device = 'cpu', failure } = deviceUse ?? {};
    return {
      device,
      ...(failure !== undefined && { deviceFailure: failure }),
      ...(runtimeUse && { runtime: runtimeUse.runtime }),
      ...(runtimeUse?.failure !== undefined && { runtimeFailure: runtimeUse.failure }),
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    return this.#closing;
  }

  async #shutDown(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#closeMs);
    });
    await Promise.race([this.#drained(), late]);
    clearTimeout(timer);
    for (const request of this.#arriving.keys()) this.#fail(request, new ClosedError('inference service'));
    this.#scheduler.failAll(new ClosedError('inference service'));
    await Promise.all(this.#workers.map(({ thread }) => thread.close()));
    this.#watch.stop();
  }

  async #drained(): Promise<void> {
    await Promise.all(this.#arriving.values());
    await this.#scheduler.drained();
  }

  get #textBytes(): number {
    const running = this.#scheduler.begun.reduce((sum, { characters }) => sum + characters, 0);
    return WAITING_BYTES * this.#queue.waiting.characters + RUNNING_BYTES * running;
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw new ClosedError('inference service');
  }

  /**
   * Refuses a request beyond the share of its account. In a full queue, the account with the most waiting gives way
   * (longest queue drop; Suter et al. 1998), so that one account's texts never keep out those of another. An empty queue
   * takes any request: otherwise, one that is larger than the limits could never be answered.
   * @throws OverloadedError
   */
  #checkRoom({ account, texts }: PendingRequest): void {
    if (this.#queue.waiting.texts === 0 && this.#arriving.size === 0) return;
    const added: Waiting = { texts: texts.length, characters: charactersOf(texts) };
    const own = this.#waitingOf(account);
    const share = shareOf(sum(own, added), this.#maxWaiting);
    if (own.texts > 0 && share > this.#accountShare) {
      this.#requests.refused += 1;
      throw new OverloadedError(own.texts, this.#scheduler.waitingMs, 'account');
    }
    while (!this.#hasRoomFor(added)) {
      const victim = this.#requestToDrop(share);
      if (victim === undefined) {
        this.#requests.refused += 1;
        throw this.#overloaded();
      }
      this.#queue.remove(victim);
      if (this.#end(victim, 'refused')) victim.reject(this.#overloaded());
    }
  }

  /** @param share of the account that asks: one with less is not dropped for it. */
  #requestToDrop(share: number): PendingRequest | undefined {
    const largest = this.#queue.largest((waiting) => shareOf(waiting, this.#maxWaiting));
    if (largest === undefined) return undefined;
    return shareOf(this.#queue.waitingOf(largest), this.#maxWaiting) > share
      ? this.#queue.latestOf(largest)
      : undefined;
  }

  #overloaded(): OverloadedError {
    return new OverloadedError(this.#waitingOf().texts, this.#scheduler.waitingMs);
  }

  #hasRoomFor(added: Waiting): boolean {
    const waiting = this.#waitingOf();
    if (waiting.texts === 0) return true;
    const all = sum(waiting, added);
    return shareOf(all, this.#maxWaiting) <= 1 && this.#memory.couldTake(WAITING_BYTES * added.characters);
  }

  /** What waits, of one account or of all, including requests whose models are being measured. */
  #waitingOf(account?: string): Waiting {
    const queued = account === undefined ? this.#queue.waiting : this.#queue.waitingOf(account);
    const arriving = [...this.#arriving.keys()].filter((each) => account === undefined || each.account === account);
    return arriving.reduce(
      (all, { texts }) => sum(all, { texts: texts.length, characters: charactersOf(texts) }),
      queued,
    );
  }

  #begin(request: PendingRequest): void {
    this.#watch.start();
    const here = this.#threadForAlone(request);
    if (here === undefined) {
      this.#queue.add(request);
      this.#schedule();
    } else {
      this.#scheduler.runAlone(request, here);
    }
  }

  async #beginAfter(measuring: Promise<void>, request: PendingRequest): Promise<void> {
    try {
      await measuring;
      if (!request.ended) this.#begin(request);
    } catch (thrown) {
      this.#fail(request, thrown);
    } finally {
      this.#arriving.delete(request);
    }
  }

  #isAsked(directory: string): boolean {
    return (
      this.#queue.waitingFor(directory) > 0 || this.#scheduler.begun.some((batch) => batch.directory === directory)
    );
  }

  #forgetAgain(): void {
    for (const directory of this.#forgotten) {
      if (this.#isAsked(directory)) continue;
      this.#forgotten.delete(directory);
      this.#pool.forget(directory);
    }
  }

  #watchSignal(signal: AbortSignal, request: PendingRequest): void {
    const abort = () => this.#cancel(request, new AbortedError('inference', { cause: signal.reason }));
    request.onEnd(onAbort(signal, abort));
  }

  #watchDeadline(deadlineMs: number, request: PendingRequest): void {
    const timer = setTimeout(() => this.#cancel(request, new DeadlineError(deadlineMs)), deadlineMs);
    request.onEnd(() => clearTimeout(timer));
  }

  #cancel(request: PendingRequest, error: AbortedError | DeadlineError): void {
    this.#withdraw(request);
    if (this.#end(request, 'cancelled')) request.reject(error);
  }

  #fail(request: PendingRequest, thrown: unknown): void {
    this.#withdraw(request);
    if (this.#end(request, 'failed')) request.reject(thrown);
  }

  #withdraw(request: PendingRequest): void {
    this.#queue.remove(request);
    this.#scheduler.cancel(request);
  }

  /** @returns false if it had ended before. */
  #end(request: PendingRequest, outcome: keyof InferenceStats['requests']): boolean {
    if (request.ended) return false;
    request.end();
    this.#requests[outcome] += 1;
    return true;
  }

  /** After the microtasks that are due, so that callers that were just answered can ask again first. */
  #schedule(): void {
    if (this.#isScheduled || this.#queue.isEmpty) return;
    this.#isScheduled = true;
    queueMicrotask(() =>
      process.nextTick(() => {
        this.#isScheduled = false;
        this.#scheduler.start();
      }),
    );
  }
}

function withoutThreshold(): ValidationError {
  const msg =
    'the model has no threshold for `noneOfThese`: only classifiers have one, and classifiers of earlier releases have to be trained again';
  return new ValidationError([{ loc: ['noneOfThese'], msg, type: 'unsupported' }]);
}

/** The calling thread as a worker; its code is loaded on first use. */
function callingThread(options: WorkerOptions): InferenceWorker {
  let worker: InferenceWorker | undefined;
  let loading: Promise<InferenceWorker> | undefined;
  const loaded = () => {
    loading ??= import('./inline-worker.js')
      .then(({ InlineWorker }) => {
        worker = new InlineWorker(options);
        return worker;
      })
      .catch((thrown: unknown) => {
        loading = undefined;
        throw thrown;
      });
    return loading;
  };
  /** The requests that wait for the import get its error. */
  const afterLoading = (work: (own: InferenceWorker) => void | Promise<void>) => loading?.then(work, () => undefined);
  return {
    run: (batch) => worker?.run(batch) ?? loaded().then((own) => own.run(batch)),
    resume: async (id, alone) => (await loaded()).resume(id, alone),
    cancel: (id, positions) => void afterLoading((own) => own.cancel(id, positions)),
    load: async (directory, version) => (await loaded()).load(directory, version),
    forget: (directory) => void afterLoading((own) => own.forget(directory)),
    abandon: () => undefined,
    rest: () => worker?.rest(),
    close: async () => afterLoading((own) => own.close()),
  };
}

/** How models are run. */
export interface ServiceOptions {
  /**
   * The threads or processes that answer texts. `auto` (default): worker threads, with one exception: the calling
   * thread answers a single short text if its model was loaded in advance (by `loadModel` or `warm`), takes at most 100 MiB,
   * and answers such a text within about a millisecond, because the round trip to a thread would take as long.
   * Batches for such a model also start in the calling thread, 4 ms at a time, until they have taken as long as loading
   * the model takes; then worker threads load it. `worker`: always worker threads. `process`: always child processes,
   * which take more memory than threads and start more slowly; a crash of native code then ends neither the application
   * nor other requests, and a thread of the application that asks models may be terminated at any time. `inline`: the
   * calling thread, which each run blocks.
   */
  readonly isolation?: 'auto' | 'worker' | 'process' | 'inline';
  /**
   * Maximum number of worker threads or processes. A model stays in the thread that loaded it until there are enough
   * requests to make loading it in another thread worthwhile; idle threads that have loaded it share the texts of a
   * batch. Default: one for each processor that the process may use, 4 at most; one if `device` names a device, since
   * threads can only take turns on it.
   */
  readonly workers?: number;
  /**
   * Maximum number of threads for one text while no other request is waiting, if the service has measured that several
   * threads are faster. Everything else is computed with one. Default: one for each processor, 4 at most.
   */
  readonly threads?: number;
  /**
   * The device that runs models: `cpu`, the name of a device, or `auto`, which measures each model when it is loaded
   * and uses a device only if it is faster for a short text and for many texts. A device that fails is replaced by the
   * CPU, as `stats` shows. Default cpu.
   */
  readonly device?: Device;
  /**
   * What runs the encoders: `onnx`, the native onnxruntime-node; `wasm`, WebAssembly, which needs no native library,
   * takes up to 2.5 times as long per text, and runs only encoders with BERT's layout, on the CPU; or `auto`, which
   * uses WebAssembly if onnxruntime-node can't be loaded, with one warning per process (code ORCHARD_WASM). Default
   * auto.
   */
  readonly runtime?: Runtime;
  /**
   * Maximum memory of the loaded models and the texts of requests together, in bytes, estimated from the models' files
   * and the texts' lengths. The least recently used models are unloaded first. Requests that would need more fail with
   * an OverloadedError, and a model that is larger than the limit fails with a MemoryLimitError. The process itself
   * takes about 100 MiB more, and 20 MiB per worker. Default: half of the memory that the process may use, at most 4
   * GiB.
   */
  readonly memoryLimit?: number;
  /**
   * After this many milliseconds without a request, the threads end and free their memory; models are loaded again on the
   * next request. Default 10 minutes; Infinity keeps them.
   */
  readonly idleMs?: number;
  /**
   * Maximum number of waiting texts. A request that would exceed it fails with an OverloadedError; if another account
   * has more texts waiting than the account that asks, the latest requests of that account fail instead. Default 2,000.
   */
  readonly maxWaiting?: number;
  /**
   * Maximum number of waiting texts of one account, which also limits the account to the same share of the 2^24
   * characters that may wait. A request that would exceed it fails with an OverloadedError whose `limit` is `account`.
   * Default: no limit per account.
   */
  readonly maxWaitingPerAccount?: number;
}

/** How a predictor or medley runs models. */
export interface RunOptions extends ServiceOptions {
  /**
   * A service to run the models in, instead of a new one; the other options of a service must be left out. Several
   * predictors and medleys can share a service and its loaded models. It stays open when they are closed.
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

export const serviceSchema = z.strictObject({
  isolation: z.enum(['auto', 'worker', 'process', 'inline']).default('auto'),
  workers: z.int().min(1).optional(),
  threads: z.int().min(1).default(PROCESSORS),
  device: z.enum(DEVICES).default('cpu'),
  runtime: z.enum(RUNTIMES).default('auto'),
  memoryLimit: z.int().min(1).default(defaultMemoryLimit),
  idleMs: z.number().min(1).or(z.literal(Number.POSITIVE_INFINITY)).default(600_000),
  maxWaiting: z.int().min(1).default(2000),
  maxWaitingPerAccount: z.int().min(1).optional(),
});
export type ServiceSettings = z.infer<typeof serviceSchema>;

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

/** @throws ValidationError for an option that a new service would have, next to a service that has its own */
export function requireOwnService(options: RunOptions): void {
  if (options.inference === undefined) return;
  const given = serviceSchema.keyof().options.find((name) => options[name] !== undefined);
  if (given === undefined) return;
  const msg = `has no effect with \`inference\`, a service with its own \`${given}\`; leave one of them out`;
  throw new ValidationError([{ loc: [given], msg, type: 'unsupported' }]);
}

/** Creates a service with these options, for several predictors and medleys to share. @throws ValidationError */
export function inferenceService(options: ServiceOptions = {}): InferenceService {
  return createService(validate(serviceSchema, options));
}

/** Whether Jest or another sandbox made the globals of this module: the runtime, which is native, takes no arrays of them. */
function isForeignRealm(): boolean {
  const outer: unknown = runInThisContext('Float32Array');
  return outer !== Float32Array;
}

/** Several workers gain little on such a device: one thread at a time uses it. */
export const isNamedDevice = (device: Device = 'cpu'): boolean => device !== 'cpu' && device !== 'auto';

/** @param startsThread ahead of the first request. @throws ValidationError for a device that the runtime can't use */
export function createService(
  { isolation, workers, threads, device, runtime, ...settings }: ServiceSettings,
  startsThread = true,
): Dispatcher {
  if (runtime === 'wasm' && device !== 'cpu' && device !== 'auto') throw withoutDevice(device);
  if (isolation === 'inline')
    return new Dispatcher([callingThread({ threads, device, runtime })], { ...settings, sizeOf: memoryOfFolder });
  const length = workers ?? (isNamedDevice(device) ? 1 : PROCESSORS);
  const open = isolation === 'process' ? openProcess : undefined;
  const remoteWorkers = Array.from({ length }, () => new RemoteWorker({ threads, device, runtime }, open));
  if (startsThread) remoteWorkers[0]?.start();
  if (isolation !== 'auto' || device !== 'cpu' || isForeignRealm())
    return new Dispatcher(remoteWorkers, { ...settings, sizeOf: memoryOfFolder });
  const here = callingThread({ threads: 1, runtime });
  return new Dispatcher(remoteWorkers, { ...settings, sizeOf: memoryOfFolder, here });
}

function withoutDevice(device: Device): ValidationError {
  const msg = `WebAssembly runs only on the CPU, not on ${device}; leave \`device\` out, or use \`runtime: 'onnx'\``;
  return new ValidationError([{ loc: ['runtime'], msg, type: 'unsupported' }]);
}

/**
 * Lists the values of the option `device` on this machine. Each device that the installed ONNX Runtime knows is tested
 * with a small matrix product, which takes a few hundred milliseconds and blocks the calling thread for part of that
 * time. Devices that are not available are listed with the reason. Rejects only if the runtime can't be loaded.
 */
export async function listDevices(): Promise<readonly DeviceInformation[]> {
  // An application that runs models in threads doesn't load the runtime.
  const graph = await import('../graph/index.js');
  return graph.listDevices();
}
