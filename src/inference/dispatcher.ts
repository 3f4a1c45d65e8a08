import { AbortedError, ClosedError, DeadlineError, OverloadedError, ValidationError } from '../contract/index.js';
import { Batches } from './batches.js';
import type { InferenceService, InferenceStats, ModelStats, Predictions, RequestOptions } from './inference-service.js';
import { ModelMemory, type ModelSize } from './model-memory.js';
import { onAbort } from './on-abort.js';
import { PendingRequest } from './pending-request.js';
import { RequestQueue } from './request-queue.js';
import { type RequestTrace, traceLoad, tracePredict } from './tracing.js';
import type { Lane } from './worker.js';
import { LanePool, LaneState } from './worker-pool.js';

/** How often lanes are looked at while any of them works, in milliseconds. */
const TICK_MS = 1000;
/** The longest time that Node's timers take: 24 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** How long a lane may take for one slice of work, in milliseconds. */
interface Patience {
  readonly runMs: number;
  /** Where a model is to be loaded. */
  readonly loadMs: number;
}

/** Slices are cut at 40 ms, between steps that take a second at most: who takes a minute doesn't come back. */
const PATIENCE: Patience = { runMs: 60_000, loadMs: 300_000 };

/** What happens to lanes, and when. */
interface WatchOptions {
  /** Called each second while a lane works. */
  readonly tick: () => void;
  /** After so many milliseconds without work, lanes give their memory back. */
  readonly idleMs: number;
  readonly patience?: Patience | undefined;
}

/**
 * Gives up lanes that don't answer, has others take over what waits for them meanwhile, and has lanes rest that nobody
 * has asked for long.
 */
class LaneWatch {
  readonly #lanes: readonly LaneState[];
  readonly #options: WatchOptions;
  #timer: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(lanes: readonly LaneState[], options: WatchOptions) {
    this.#lanes = lanes;
    this.#options = options;
  }

  /** Something is asked of the lanes. */
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
      for (const lane of this.#lanes) if (!lane.isBusy && lane.unfinished === 0) lane.rest();
    };
    if (this.#options.idleMs <= MAX_TIMER_MS) this.#idle = setTimeout(rest, this.#options.idleMs).unref();
  }

  #look(): void {
    this.#options.tick();
    const busy = this.#lanes.filter(({ isBusy }) => isBusy);
    if (busy.length === 0) this.#wait();
    const now = performance.now();
    for (const { lane, loading, busySince } of busy) {
      const { loadMs, runMs } = this.#options.patience ?? PATIENCE;
      const ms = loading !== undefined ? loadMs : runMs;
      if (now - busySince <= ms) continue;
      const what = loading !== undefined ? 'loading a model' : 'its work';
      lane.abandon(`an inference worker did not end ${what} within ${ms / 1000} s; it is replaced`);
    }
  }
}

/** Most characters that may wait, whatever the number of texts. */
const MAX_WAITING_CHARACTERS = 2 ** 24;
/** What a character of a text that waits takes, and one of a text that runs: its tokens, windows and outputs. */
const WAITING_BYTES = 2;
const RUNNING_BYTES = 100;
/** How long closing waits for what has not been answered. */
const CLOSE_MS = 10_000;
const IDLE_MS = 600_000;

export interface DispatcherOptions {
  /** Most texts that may wait. */
  readonly maxWaiting: number;
  /** Most memory that models and texts may take, in bytes. Default: no limit. */
  readonly memoryLimit?: number;
  /** Default: models are thought to take none before they are loaded. */
  readonly sizeOf?: ModelSize;
  /** Default 10 s. */
  readonly closeMs?: number;
  /** How long nothing must have been asked for threads to end and give their memory back. Default 10 minutes. */
  readonly idleMs?: number;
  readonly patience?: Patience;
}

/**
 * Gathers the texts of all callers and hands them to lanes, model by model, first in, first out. What is asked in one
 * turn of the event loop goes together.
 */
export class Dispatcher implements InferenceService {
  readonly #queue = new RequestQueue();
  readonly #lanes: readonly LaneState[];
  readonly #pool: LanePool;
  readonly #memory: ModelMemory;
  readonly #batches: Batches;
  readonly #watch: LaneWatch;
  readonly #maxWaiting: number;
  readonly #closeMs: number;
  readonly #requests = { answered: 0, refused: 0, cancelled: 0, failed: 0 };
  /** Requests whose models are being measured. */
  readonly #arriving = new Map<PendingRequest, Promise<void>>();
  /** Folders to forget once nobody waits for their models. */
  readonly #forgotten = new Set<string>();
  #isScheduled = false;
  #closing: Promise<void> | undefined;

  constructor(lanes: readonly Lane[], options: DispatcherOptions) {
    const { maxWaiting, memoryLimit = Number.POSITIVE_INFINITY, sizeOf = () => 0 } = options;
    this.#maxWaiting = maxWaiting;
    this.#closeMs = options.closeMs ?? CLOSE_MS;
    this.#lanes = lanes.map((lane) => new LaneState(lane));
    this.#memory = new ModelMemory(memoryLimit, this.#lanes, sizeOf, () => this.#textBytes);
    this.#pool = new LanePool(this.#lanes, this.#memory);
    this.#batches = new Batches(this.#queue, this.#pool, this.#memory, {
      idle: () => {
        this.#schedule();
        this.#forgetAgain();
      },
      answered: (request, predictions) => {
        if (request.lacksThreshold) this.#fail(request, withoutThreshold());
        else this.#end(request, 'answered', () => request.resolve(predictions));
      },
      failed: (request, thrown) => this.#fail(request, thrown),
    });
    const tick = () => this.#batches.start();
    const { idleMs = IDLE_MS, patience } = options;
    this.#watch = new LaneWatch(this.#lanes, { tick, idleMs, patience });
  }

  predict(
    directory: string,
    texts: readonly string[],
    { signal, deadlineMs, account, explain, noneOfThese }: RequestOptions = {},
  ): Promise<Predictions> {
    const ask = (trace: RequestTrace | undefined) =>
      new Promise<Predictions>((resolve, reject) => {
        const request = new PendingRequest(directory, texts, resolve, reject, account);
        this.#checkOpen();
        if (signal?.aborted) throw new AbortedError('inference', { cause: signal.reason });
        if (texts.length === 0) return resolve({ results: [], elapsedMs: 0, truncated: [] });
        this.#checkRoom(texts);
        const measuring = this.#memory.measure(directory);
        request.trace = trace;
        request.explain = explain;
        request.noneOfThese = noneOfThese ?? false;
        if (signal !== undefined) this.#heed(signal, request);
        if (deadlineMs !== undefined) this.#limit(deadlineMs, request);
        if (measuring === undefined) this.#enqueue(request);
        else this.#arriving.set(request, this.#enqueueAfter(measuring, request));
      });
    return tracePredict(directory, texts.length, ask);
  }

  async warm(directory: string): Promise<void> {
    this.#checkOpen();
    await this.#memory.measure(directory);
    const home = this.#pool.homeOf(directory);
    if (home === undefined) return;
    if (!home.models.has(directory)) this.#memory.makeRoomFor(directory);
    const startedAt = performance.now();
    this.#watch.start();
    const { ms } = await home.load(directory, this.#memory.bytesOf(directory));
    this.#schedule();
    if (ms === 0) return;
    this.#pool.figuresOf(directory).loadMs = ms;
    traceLoad(directory, startedAt, ms);
  }

  forget(directory: string): void {
    this.#pool.forget(directory);
    // What was asked before may load it again.
    if (this.#isAsked(directory)) this.#forgotten.add(directory);
  }

  stats(): InferenceStats {
    return {
      waitingRequests: this.#queue.waitingRequests,
      waitingTexts: this.#queue.waitingTexts,
      runningTexts: this.#batches.begun.reduce((sum, { items }) => sum + items.length, 0),
      requests: { ...this.#requests },
      texts: this.#batches.texts,
      stages: this.#batches.stages,
      memory: this.#memory.stats,
      models: [...this.#pool.figures].map(([directory, { texts, textMs }]) => ({
        directory,
        workers: this.#pool.homes(directory).length,
        waitingTexts: this.#queue.waitingFor(directory),
        texts,
        textMs,
        ...this.#deviceOf(directory),
      })),
      workers: this.#lanes.map(({ isBusy, models }) => ({ busy: isBusy, models: models.size })),
    };
  }

  #deviceOf(directory: string): Pick<ModelStats, 'device' | 'deviceFailure'> {
    const [home] = this.#pool.homes(directory);
    const { device = 'cpu', failure } = home?.models.get(directory)?.deviceUse ?? {};
    return { device, ...(failure !== undefined && { deviceFailure: failure }) };
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
    this.#batches.failAll(new ClosedError('inference service'));
    await Promise.all(this.#lanes.map(({ lane }) => lane.close()));
    this.#watch.stop();
  }

  async #drained(): Promise<void> {
    await Promise.all(this.#arriving.values());
    await this.#batches.drained();
  }

  get #textBytes(): number {
    const running = this.#batches.begun.reduce((sum, { characters }) => sum + characters, 0);
    return WAITING_BYTES * this.#queue.waitingCharacters + RUNNING_BYTES * running;
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw new ClosedError('inference service');
  }

  /** An empty queue takes any request, or one that is larger than the bounds could never be answered. */
  #checkRoom(texts: readonly string[]): void {
    let { waitingTexts, waitingCharacters } = this.#queue;
    for (const arriving of this.#arriving.keys()) {
      waitingTexts += arriving.waiting;
      waitingCharacters += charactersOf(arriving.texts);
    }
    if (waitingTexts === 0) return;
    const characters = charactersOf(texts);
    const fits =
      waitingTexts + texts.length <= this.#maxWaiting &&
      waitingCharacters + characters <= MAX_WAITING_CHARACTERS &&
      this.#memory.couldTake(WAITING_BYTES * characters);
    if (fits) return;
    this.#requests.refused += 1;
    throw new OverloadedError(waitingTexts, this.#batches.waitingMs);
  }

  #enqueue(request: PendingRequest): void {
    this.#queue.add(request);
    this.#watch.start();
    this.#schedule();
  }

  async #enqueueAfter(measuring: Promise<void>, request: PendingRequest): Promise<void> {
    try {
      await measuring;
      if (!request.ended) this.#enqueue(request);
    } catch (thrown) {
      this.#fail(request, thrown);
    } finally {
      this.#arriving.delete(request);
    }
  }

  #isAsked(directory: string): boolean {
    return (
      this.#queue.waitingFor(directory) > 0 || this.#batches.begun.some(({ flow }) => flow.directory === directory)
    );
  }

  #forgetAgain(): void {
    for (const directory of this.#forgotten) {
      if (this.#isAsked(directory)) continue;
      this.#forgotten.delete(directory);
      this.#pool.forget(directory);
    }
  }

  #heed(signal: AbortSignal, request: PendingRequest): void {
    const abort = () => this.#giveUp(request, new AbortedError('inference', { cause: signal.reason }));
    request.onEnd(onAbort(signal, abort));
  }

  #limit(deadlineMs: number, request: PendingRequest): void {
    const timer = setTimeout(() => this.#giveUp(request, new DeadlineError(deadlineMs)), deadlineMs);
    request.onEnd(() => clearTimeout(timer));
  }

  #giveUp(request: PendingRequest, error: AbortedError | DeadlineError): void {
    this.#withdraw(request);
    this.#end(request, 'cancelled', () => request.reject(error));
  }

  #fail(request: PendingRequest, thrown: unknown): void {
    this.#withdraw(request);
    this.#end(request, 'failed', () => request.reject(thrown));
  }

  #withdraw(request: PendingRequest): void {
    this.#queue.remove(request);
    this.#batches.cancel(request);
  }

  #end(request: PendingRequest, how: 'answered' | 'cancelled' | 'failed', tell: () => void): void {
    if (request.ended) return;
    request.end();
    this.#requests[how] += 1;
    tell();
  }

  /**
   * Batches are made up once the callers that were just answered have asked again: after the microtasks that are due,
   * and those that they lead to.
   */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() =>
      process.nextTick(() => {
        this.#isScheduled = false;
        this.#batches.start();
      }),
    );
  }
}

function withoutThreshold(): ValidationError {
  const msg =
    'the model has no threshold for it: only classifiers have one, and those that an earlier release trained have none; train it again';
  return new ValidationError([{ loc: ['noneOfThese'], msg, type: 'unsupported' }]);
}

function charactersOf(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length, 0);
}
