import { isOrchardError } from '../contract/index.js';
import type { ExplanationChoice } from '../families/index.js';
import type { Predictions } from './inference-service.js';
import type { BatchLimits, Item, ModelQueue, PendingRequest, RequestQueue } from './request-queue.js';
import { traceBatch, traceLoad } from './tracing.js';
import type { BatchAnswer, StageTimes } from './worker.js';
import type { ModelMemory, PooledWorker, WorkerPool } from './worker-pool.js';

export class RunningBatch {
  /** Its id in the worker; set when the worker receives it. */
  id = -1;
  #times: StageTimes = { load: 0, tokenize: 0, run: 0, decode: 0 };

  constructor(
    readonly worker: PooledWorker,
    /** The queue that its slices count for. */
    readonly queue: ModelQueue,
    readonly items: readonly Item[],
    /** Batches of one round run in parallel. */
    public round: number,
  ) {}

  get texts(): string[] {
    return this.items.map(({ request, index }) => request.texts[index] ?? '');
  }

  get explain(): (ExplanationChoice | undefined)[] | undefined {
    const choices = this.items.map(({ request }) => request.explain);
    return choices.some((choice) => choice !== undefined) ? choices : undefined;
  }

  get requests(): PendingRequest[] {
    return [...new Set(this.items.map(({ request }) => request))];
  }

  get work(): number {
    return this.items.reduce((sum, item) => sum + item.work, 0);
  }

  get characters(): number {
    return this.items.reduce((sum, { request, index }) => sum + (request.texts[index]?.length ?? 0), 0);
  }

  get isGivenUp(): boolean {
    return this.items.every(({ request }) => request.ended);
  }

  add({ times }: BatchAnswer): StageTimes {
    const { load, tokenize, run, decode } = this.#times;
    this.#times = {
      load: load + times.load,
      tokenize: tokenize + times.tokenize,
      run: run + times.run,
      decode: decode + times.decode,
    };
    return this.#times;
  }
}

/** Positions in `work` in at most `parts` of about equal work, texts of similar length together. */
export function splitTexts(work: readonly number[], parts: number): number[][] {
  const order = [...work.keys()].sort((a, b) => (work[a] ?? 0) - (work[b] ?? 0));
  const total = work.reduce((sum, each) => sum + each, 0);
  const shared = Array.from({ length: parts }, (): number[] => []);
  let before = 0;
  for (const position of order) {
    const own = work[position] ?? 0;
    const middle = before + own / 2;
    shared[Math.min(parts - 1, Math.floor((parts * middle) / total))]?.push(position);
    before += own;
  }
  return shared.filter((part) => part.length > 0);
}

/** Target duration of a batch: the handover costs little of it, and other models don't wait long. */
const BATCH_MS = 30;
/** Limits of a batch before the model's speed is known: texts, and their work (about 40 short pages). */
const FIRST_TEXTS = 32;
const FIRST_WORK = 20_000;
const MAX_TEXTS = 256;
/** A text that takes longer is a batch of its own, computed in slices. */
const LONG_MS = 2 * BATCH_MS;
/** Most unfinished long texts per worker: each keeps its tokens and outputs, tens of megabytes at most. */
const MAX_UNFINISHED = 4;
/** A part of less work than this, in milliseconds, is not worth another thread. */
const LEAST_PART_MS = 1;

interface BatchEvents {
  idle(): void;
  answered(request: PendingRequest, predictions: Predictions): void;
  failed(request: PendingRequest, thrown: unknown): void;
}

/** Makes batches of waiting texts, runs them on workers, and gives the results to the requests. */
export class BatchScheduler {
  readonly #queue: RequestQueue;
  readonly #pool: WorkerPool;
  readonly #memory: ModelMemory;
  readonly #events: BatchEvents;
  readonly #running = new Set<RunningBatch>();
  readonly #loading = new Set<Promise<void>>();
  readonly #stages = { load: 0, tokenize: 0, run: 0, decode: 0 };
  #texts = 0;
  #round = 0;
  #whenDrained: (() => void)[] = [];

  constructor(queue: RequestQueue, pool: WorkerPool, memory: ModelMemory, events: BatchEvents) {
    this.#queue = queue;
    this.#pool = pool;
    this.#memory = memory;
    this.#events = events;
  }

  get texts(): number {
    return this.#texts;
  }

  get stages(): StageTimes {
    return { ...this.#stages };
  }

  get begun(): RunningBatch[] {
    return [...this.#running, ...this.#queue.unfinished];
  }

  get waitingMs(): number {
    const workers = this.#pool.workers.length;
    const queues = this.#queue.inOrder();
    const ms = queues.reduce(
      (sum, { directory, waitingTexts }) => sum + waitingTexts * this.#pool.figuresOf(directory).textMs,
      0,
    );
    return ms / workers;
  }

  start(): void {
    while (this.#pool.workers.some(({ isBusy }) => !isBusy)) {
      if (!this.#queue.inOrder().some((queue) => this.#runNext(queue))) return;
    }
  }

  cancel(request: PendingRequest): void {
    for (const { id, worker, items } of this.#running) {
      const positions = positionsOf(request, items);
      if (positions.length > 0) worker.thread.cancel(id, positions);
    }
    for (const batch of this.#queue.unfinished) {
      const { id, worker, items, queue } = batch;
      const positions = positionsOf(request, items);
      if (positions.length === 0) continue;
      if (items.some((item) => item.request !== request && !item.request.ended)) {
        worker.thread.cancel(id, positions);
      } else {
        this.#queue.removeUnfinished(batch, 0);
        worker.drop(id, queue.directory, positions);
      }
    }
  }

  failAll(error: unknown): void {
    const begun = this.begun.flatMap(({ requests }) => requests);
    for (const request of new Set([...begun, ...this.#queue.requests()])) this.#events.failed(request, error);
  }

  /** Resolves once nothing waits and nothing runs. */
  drained(): Promise<void> {
    if (this.#isDrained()) return Promise.resolve();
    return new Promise((resolve) => this.#whenDrained.push(resolve));
  }

  #isDrained(): boolean {
    return this.#running.size === 0 && this.#loading.size === 0 && this.#queue.isEmpty;
  }

  #afterWork(): void {
    this.#events.idle();
    if (this.#whenDrained.length === 0 || !this.#isDrained()) return;
    for (const resolve of this.#whenDrained.splice(0)) resolve();
  }

  /** Starts work of a queue, alternating between waiting texts and an unfinished batch. @returns whether a worker was free */
  #runNext(queue: ModelQueue): boolean {
    const unfinished = queue.unfinished.find(({ worker }) => !worker.isBusy);
    if (unfinished === undefined) return this.#startBatch(queue);
    if (!queue.tookTexts && this.#startBatch(queue)) return true;
    this.#resume(unfinished);
    return true;
  }

  #startBatch(queue: ModelQueue): boolean {
    const { directory, first, couldHaveRun } = queue;
    if (first === undefined) return false;
    const workers = this.#pool.workersFor(directory);
    queue.couldHaveRun = workers.length === 0;
    if (workers.length === 0) return false;
    const figures = this.#pool.figuresOf(directory);
    const forLong = workers.find((worker) => worker.unfinished < MAX_UNFINISHED && !isBegunOn(worker, queue));
    const items = this.#queue.take(queue, limitsOf(figures.workMs, workers.length, forLong !== undefined));
    if (items.length === 0) return false;
    if (couldHaveRun) figures.addLostTime(performance.now() - first.enqueuedAt);
    this.#loadCopy(directory);
    const isLong = items.length === 1 && forLong !== undefined;
    this.#split(queue, isLong ? [forLong] : workers, items);
    return true;
  }

  #split(queue: ModelQueue, workers: readonly PooledWorker[], items: readonly Item[]): void {
    const figures = this.#pool.figuresOf(queue.directory);
    const isKnown = figures.workMs > 0;
    const work = items.reduce((sum, item) => sum + item.work, 0);
    const parts = isKnown
      ? Math.max(1, Math.min(workers.length, Math.floor((work * figures.workMs) / LEAST_PART_MS)))
      : workers.length;
    const idle = this.#pool.idle.length;
    if (items.length > 1 && idle > workers.length) figures.addLostTime((work * figures.workMs) / (workers.length + 1));
    const isAlone = items.length === 1 && this.#isAlone();
    this.#round += 1;
    const shares = splitTexts(
      items.map((item) => item.work),
      parts,
    );
    for (const [at, positions] of shares.entries()) {
      const worker = workers[at];
      const share = positions.flatMap((position) => items[position] ?? []);
      if (worker !== undefined) this.#start(new RunningBatch(worker, queue, share, this.#round), isAlone);
    }
  }

  #isAlone(): boolean {
    return this.#pool.workers.every(({ isBusy }) => !isBusy) && this.#queue.isEmpty;
  }

  /** Loads another copy of the model where that pays; meanwhile, the other workers continue. */
  #loadCopy(directory: string): void {
    const worker = this.#pool.workerForCopy(directory);
    if (worker === undefined) return;
    const startedAt = performance.now();
    const loaded = worker.load(directory, this.#memory.bytesOf(directory)).then(
      ({ ms }) => traceLoad(directory, startedAt, ms),
      // The next request that needs the model reports the failure.
      () => undefined,
    );
    this.#loading.add(loaded);
    void loaded.then(() => {
      this.#loading.delete(loaded);
      this.#afterWork();
    });
  }

  #start(batch: RunningBatch, alone: boolean): void {
    const startedAt = performance.now();
    const { worker, queue, items, texts, explain } = batch;
    const { directory } = queue;
    for (const { request } of items) request.startedAt ??= startedAt;
    const bytes = this.#memory.bytesOf(directory);
    const started = (id: number) => {
      batch.id = id;
    };
    const given = { directory, texts, alone, ...(explain && { explain }) };
    void this.#complete(batch, worker.run(given, bytes, started), startedAt);
  }

  #resume(batch: RunningBatch): void {
    const { workMs } = this.#pool.figuresOf(batch.queue.directory);
    this.#queue.removeUnfinished(batch, limitsOf(workMs, 1, false).longWork);
    this.#round += 1;
    batch.round = this.#round;
    const alone = batch.items.length === 1 && this.#isAlone();
    const { worker, id, queue } = batch;
    void this.#complete(batch, worker.resume(id, alone, queue.directory), performance.now());
  }

  async #complete(batch: RunningBatch, answering: Promise<BatchAnswer>, startedAt: number): Promise<void> {
    this.#running.add(batch);
    try {
      const answer = await answering;
      this.#running.delete(batch);
      if (answer.loadedBytes !== undefined) this.#memory.trim();
      const { items, queue, requests } = batch;
      this.#count(batch, answer);
      traceBatch({ directory: queue.directory, requests, texts: items.length, startedAt, answer });
      this.#deliver(batch, answer);
    } catch (thrown) {
      this.#running.delete(batch);
      this.#fail(batch, thrown);
    } finally {
      this.#afterWork();
    }
  }

  #count(batch: RunningBatch, answer: BatchAnswer): void {
    const { items, queue, work } = batch;
    const answered = answer.results.filter((result) => result !== undefined).length;
    this.#texts += answered;
    this.#stages.load += answer.times.load;
    this.#stages.tokenize += answer.times.tokenize;
    this.#stages.run += answer.times.run;
    this.#stages.decode += answer.times.decode;
    const times = batch.add(answer);
    // The time of a partly cancelled batch can't be assigned to texts.
    if (answered === items.length) this.#pool.figuresOf(queue.directory).add(times, items.length, work);
  }

  #deliver(batch: RunningBatch, answer: BatchAnswer): void {
    for (const [at, { request, index }] of batch.items.entries()) request.take(index, answer, at);
    for (const request of batch.requests) {
      request.addTime(batch.round, answer.times);
      const { predictions } = request;
      if (predictions !== undefined) this.#events.answered(request, predictions);
    }
    if (!answer.isUnfinished) return;
    // The requests ended while this answer was on its way.
    if (batch.isGivenUp) batch.worker.drop(batch.id, batch.queue.directory, []);
    else this.#queue.addUnfinished(batch);
  }

  /** One of several requests may have failed the others: each is retried alone, unless the model is at fault. */
  #fail({ items, requests }: RunningBatch, thrown: unknown): void {
    const isOfModel = isOrchardError(thrown) && thrown.code === 'model_folder';
    for (const request of requests) {
      if (requests.length === 1 || isOfModel) this.#events.failed(request, thrown);
      if (request.ended) continue;
      const from = Math.min(...items.filter((item) => item.request === request).map(({ index }) => index));
      this.#queue.remove(request);
      request.retryAlone(from);
      this.#queue.add(request);
    }
  }
}

/** @param workMs milliseconds per unit of work; 0 if unknown. @param workers number of workers that share the batch. */
function limitsOf(workMs: number, workers: number, mayBeginLong: boolean): BatchLimits {
  if (workMs === 0) {
    return { work: workers * FIRST_WORK, texts: workers * FIRST_TEXTS, longWork: FIRST_WORK, mayBeginLong };
  }
  const longWork = LONG_MS / workMs;
  return { work: (workers * BATCH_MS) / workMs, texts: workers * MAX_TEXTS, longWork, mayBeginLong };
}

function isBegunOn(worker: PooledWorker, queue: ModelQueue): boolean {
  return queue.unfinished.some((batch) => batch.worker === worker);
}

function positionsOf(request: PendingRequest, items: readonly Item[]): number[] {
  return items.flatMap((item, at) => (item.request === request ? [at] : []));
}
