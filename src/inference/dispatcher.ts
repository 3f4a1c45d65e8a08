import { AbortedError, ClosedError, DeadlineError, OverloadedError } from '../errors.js';
import { Batches } from './batches.js';
import { type RequestTrace, traceLoad, tracePredict } from './channels.js';
import type { InferenceService, Predictions, RequestOptions } from './inference-service.js';
import type { InferenceStats } from './inference-stats.js';
import type { Lane } from './lane.js';
import { LanePool } from './lane-pool.js';
import { PendingRequest } from './pending-request.js';
import { RequestQueue } from './request-queue.js';

/** Most characters that may wait, whatever the number of texts: 32 MiB of memory. */
const MAX_WAITING_CHARACTERS = 2 ** 24;

export interface DispatcherOptions {
  /** Most texts that may wait. */
  readonly maxWaiting: number;
}

/**
 * Gathers the texts of all callers and hands them to lanes, model by model, first in, first out. What is asked in one
 * turn of the event loop goes together.
 */
export class Dispatcher implements InferenceService {
  readonly #queue = new RequestQueue();
  readonly #pool: LanePool;
  readonly #batches: Batches;
  readonly #maxWaiting: number;
  readonly #requests = { answered: 0, refused: 0, cancelled: 0, failed: 0 };
  #isScheduled = false;
  #closing: Promise<void> | undefined;

  constructor(lanes: readonly Lane[], { maxWaiting }: DispatcherOptions) {
    this.#pool = new LanePool(lanes);
    this.#maxWaiting = maxWaiting;
    this.#batches = new Batches(this.#queue, this.#pool, {
      idle: () => this.#schedule(),
      answered: (request, predictions) => this.#end(request, 'answered', () => request.resolve(predictions)),
      failed: (request, thrown) => {
        this.#withdraw(request);
        this.#end(request, 'failed', () => request.reject(thrown));
      },
    });
  }

  predict(
    directory: string,
    texts: readonly string[],
    { signal, deadlineMs }: RequestOptions = {},
  ): Promise<Predictions> {
    const ask = (trace: RequestTrace | undefined) =>
      new Promise<Predictions>((resolve, reject) => {
        const request = new PendingRequest(directory, texts, resolve, reject);
        this.#checkOpen();
        if (signal?.aborted) throw new AbortedError('inference', { cause: signal.reason });
        if (texts.length === 0) return resolve({ results: [], elapsedMs: 0, truncated: [] });
        this.#checkRoom(texts);
        request.trace = trace;
        if (signal !== undefined) this.#heed(signal, request);
        if (deadlineMs !== undefined) this.#limit(deadlineMs, request);
        this.#queue.add(request);
        this.#schedule();
      });
    return tracePredict(directory, texts.length, ask);
  }

  async warm(directory: string): Promise<void> {
    this.#checkOpen();
    const home = this.#pool.homeOf(directory);
    home?.models.add(directory);
    const startedAt = performance.now();
    const loadMs = (await home?.lane.load(directory)) ?? 0;
    if (loadMs === 0) return;
    this.#pool.figuresOf(directory).loadMs = loadMs;
    traceLoad(directory, startedAt, loadMs);
  }

  forget(directory: string): void {
    this.#pool.forget(directory);
  }

  stats(): InferenceStats {
    const { lanes } = this.#pool;
    return {
      waitingRequests: this.#queue.waitingRequests,
      waitingTexts: this.#queue.waitingTexts,
      runningTexts: lanes.reduce((sum, { running }) => sum + running, 0),
      requests: { ...this.#requests },
      texts: this.#batches.texts,
      stages: this.#batches.stages,
      models: [...this.#pool.figures].map(([directory, { texts, textMs }]) => ({
        directory,
        workers: this.#pool.homes(directory),
        waitingTexts: this.#queue.waitingFor(directory),
        texts,
        textMs,
      })),
      workers: lanes.map(({ isBusy, models }) => ({ busy: isBusy, models: models.size })),
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#batches
      .drained()
      .then(() => Promise.all(this.#pool.lanes.map(({ lane }) => lane.close())))
      .then(() => undefined);
    return this.#closing;
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw new ClosedError('inference service');
  }

  /** An empty queue takes any request, or one that is larger than the bounds could never be answered. */
  #checkRoom(texts: readonly string[]): void {
    const { waitingTexts, waitingCharacters } = this.#queue;
    if (waitingTexts === 0) return;
    const characters = texts.reduce((sum, { length }) => sum + length, waitingCharacters);
    if (waitingTexts + texts.length <= this.#maxWaiting && characters <= MAX_WAITING_CHARACTERS) return;
    this.#requests.refused += 1;
    throw new OverloadedError(waitingTexts, this.#batches.waitingMs);
  }

  #heed(signal: AbortSignal, request: PendingRequest): void {
    const abort = () => this.#giveUp(request, new AbortedError('inference', { cause: signal.reason }));
    signal.addEventListener('abort', abort, { once: true });
    request.onEnd(() => signal.removeEventListener('abort', abort));
  }

  #limit(deadlineMs: number, request: PendingRequest): void {
    const timer = setTimeout(() => this.#giveUp(request, new DeadlineError(deadlineMs)), deadlineMs);
    request.onEnd(() => clearTimeout(timer));
  }

  #giveUp(request: PendingRequest, error: AbortedError | DeadlineError): void {
    this.#withdraw(request);
    this.#end(request, 'cancelled', () => request.reject(error));
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
