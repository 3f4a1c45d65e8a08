import { isOrchardError } from '../contract/index.js';
import type { AnswerDetail } from '../families/index.js';
import type { Predictions } from './inference-service.js';
import type { BatchLimits, Item, ModelQueue, PendingRequest, RequestQueue } from './request-queue.js';
import { traceBatch, traceLoad } from './tracing.js';
import type { BatchAnswer, StageTimes } from './worker.js';
import type { ModelMemory, PooledWorker, WorkerPool } from './worker-pool.js';

/** A batch from its start until its last slice is answered. */
export class RunningBatch {
  /** In its worker. */
  readonly id: number;
  readonly texts: string[] = [];
  readonly requests: PendingRequest[] = [];
  readonly directory: string;
  /** Whose work its slices count as. */
  readonly account: string;
  work = 0;
  characters = 0;
  /** Milliseconds of its slices so far. */
  elapsedMs = 0;

  constructor(
    readonly worker: PooledWorker,
    { directory, account }: Pick<ModelQueue, 'directory' | 'account'>,
    readonly items: readonly Item[],
    /** Batches of one round run in parallel. */
    public round: number,
  ) {
    this.id = worker.nextId();
    this.directory = directory;
    this.account = account;
    for (const { request, index, work } of items) {
      const text = request.texts[index] ?? '';
      this.texts.push(text);
      this.work += work;
      this.characters += text.length;
      if (!this.requests.includes(request)) this.requests.push(request);
    }
  }

  get explain(): readonly (AnswerDetail | undefined)[] {
    return this.items.map(({ request }) => request.explain);
  }

  get rules(): readonly (string | false | undefined)[] {
    return this.items.map(({ request }) => request.rules);
  }

  positionsOf(request: PendingRequest): number[] {
    return this.items.flatMap((item, at) => (item.request === request ? [at] : []));
  }
}

export function charactersOf(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length, 0);
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
/** While several accounts ask: the others wait for each batch of one that fills the queue. */
const SHARED_BATCH_MS = 8;
/** How long after the last change of account that holds. */
const SHARED_FOR_MS = 1000;
/** On the calling thread, whose event loop waits meanwhile: of a batch, and of a single text. */
const HERE_BATCH_MS = 4;
const HERE_LONG_MS = 15;
/** Limits of a batch before the model's speed is known: texts, and their work (about 40 short pages). */
const FIRST_TEXTS = 32;
const FIRST_WORK = 20_000;
/** On the calling thread: some lines. */
const FIRST_WORK_HERE = 800;
const MAX_TEXTS = 256;
/** A text that takes longer is a batch of its own, computed in slices. */
const LONG_MS = 2 * BATCH_MS;
/** Most unfinished long texts per worker: each keeps its tokens and outputs, tens of megabytes at most. */
const MAX_UNFINISHED = 4;
/** A part of less work than this, in milliseconds, is not worth another thread. */
const LEAST_PART_MS = 0.5;

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
  /** Whose batch began last, and until when batches are short because others ask, too. */
  #account: string | undefined;
  #sharedUntil = 0;
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

  /** Whether nothing waits and nothing runs. */
  get isIdle(): boolean {
    return this.#running.size === 0 && this.#queue.isEmpty;
  }

  get waitingMs(): number {
    const ms = this.#queue
      .inOrder()
      .reduce((sum, { directory, waitingTexts }) => sum + waitingTexts * this.#pool.figuresOf(directory).textMs, 0);
    return ms / this.#pool.workers.length;
  }

  /** Gives work to the idle workers. */
  start(): void {
    if (this.#queue.isEmpty) return;
    while (this.#pool.mayRun && this.#queue.inOrder().some((queue) => this.#runNext(queue)));
  }

  /** Runs the only text of a request on one worker, past the queue. */
  runAlone(request: PendingRequest, worker: PooledWorker): void {
    request.next = 1;
    this.#round += 1;
    const items = [{ request, index: 0, work: request.workOf(0) }];
    this.#start(new RunningBatch(worker, request, items, this.#round), true);
  }

  cancel(request: PendingRequest): void {
    for (const batch of this.#running) {
      const positions = batch.positionsOf(request);
      if (positions.length > 0) batch.worker.thread.cancel(batch.id, positions);
    }
    for (const batch of this.#queue.unfinished) {
      const positions = batch.positionsOf(request);
      if (positions.length === 0) continue;
      if (batch.requests.some((each) => each !== request && !each.ended)) {
        batch.worker.thread.cancel(batch.id, positions);
      } else {
        this.#queue.removeUnfinished(batch, 0);
        batch.worker.drop(batch.id, batch.directory, positions);
      }
    }
  }

  failAll(error: unknown): void {
    const begun = this.begun.flatMap(({ requests }) => requests);
    for (const request of new Set([...begun, ...this.#queue.requests()])) this.#events.failed(request, error);
  }

  /** Resolves once nothing waits, runs or is loaded. */
  drained(): Promise<void> {
    if (this.#isDrained) return Promise.resolve();
    return new Promise((resolve) => this.#whenDrained.push(resolve));
  }

  get #isDrained(): boolean {
    return this.isIdle && this.#loading.size === 0;
  }

  #afterWork(): void {
    this.#events.idle();
    if (this.#whenDrained.length === 0 || !this.#isDrained) return;
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
    const figures = this.#pool.figuresOf(directory);
    const isLong = this.#pool.here !== undefined && first.workOf(first.next) > longWorkHere(figures.leastWorkMs);
    let workers = this.#pool.workersFor(directory, isLong);
    // Shorter texts behind it need not wait for its thread.
    if (isLong && workers.length === 0) workers = this.#pool.workersFor(directory, false);
    const [worker] = workers;
    queue.couldHaveRun = worker === undefined;
    if (worker === undefined) return false;
    const isHere = worker === this.#pool.here;
    const mayBegin = (each: PooledWorker) =>
      each.unfinished < MAX_UNFINISHED && !queue.unfinished.some((batch) => batch.worker === each);
    const forLong = workers.find(mayBegin);
    const ms = this.#batchMs(queue.account);
    const size = { workers: workers.length, ms, isHere, mayBeginLong: forLong !== undefined };
    const items = this.#queue.take(queue, limitsOf(isHere ? figures.leastWorkMs : figures.workMs, size));
    if (items.length === 0) return false;
    if (couldHaveRun && !isHere) figures.addLostTime(performance.now() - first.enqueuedAt);
    const isSingle = items.length === 1 && forLong !== undefined;
    this.#split(queue, isSingle ? [forLong] : workers, items);
    this.#loadCopy(directory);
    return true;
  }

  /** How long the batch of an account may take, which begins now. */
  #batchMs(account: string): number {
    const now = performance.now();
    if (this.#account !== undefined && account !== this.#account) this.#sharedUntil = now + SHARED_FOR_MS;
    this.#account = account;
    return now < this.#sharedUntil ? SHARED_BATCH_MS : BATCH_MS;
  }

  #split(queue: ModelQueue, workers: readonly PooledWorker[], items: readonly Item[]): void {
    const figures = this.#pool.figuresOf(queue.directory);
    const isAlone = items.length === 1 && this.#isAlone;
    this.#round += 1;
    const work = items.map((item) => item.work);
    const ms = figures.workMs * work.reduce((sum, each) => sum + each, 0);
    const idle = this.#pool.idle.length;
    const isHere = workers[0] === this.#pool.here;
    if (isHere) figures.hereMs += ms;
    if ((isHere || items.length > 1) && idle > workers.length) figures.addLostTime(ms / (workers.length + 1));
    const parts = ms === 0 ? workers.length : Math.max(1, Math.min(workers.length, Math.floor(ms / LEAST_PART_MS)));
    const shares = parts === 1 ? [[...items.keys()]] : splitTexts(work, parts);
    for (const [at, positions] of shares.entries()) {
      const worker = workers[at];
      const share = positions.flatMap((position) => items[position] ?? []);
      if (worker !== undefined) this.#start(new RunningBatch(worker, queue, share, this.#round), isAlone);
    }
  }

  get #isAlone(): boolean {
    return this.#pool.workers.every(({ isBusy }) => !isBusy) && this.#queue.isEmpty;
  }

  /** Loads another copy of the model where that pays; meanwhile, the other workers continue. */
  #loadCopy(directory: string): void {
    const worker = this.#pool.workerForCopy(directory);
    if (worker === undefined) return;
    const startedAt = performance.now();
    const version = this.#pool.versionOf(directory);
    const loaded = worker.load(directory, this.#memory.bytesOf(directory), version).then(
      ({ ms }) => {
        this.#pool.figuresOf(directory).loadMs = ms;
        traceLoad(directory, startedAt, ms);
      },
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
    const { worker, id, directory, texts, requests } = batch;
    let isExplained = false;
    let hasRules = false;
    for (const request of requests) {
      request.startedAt ??= startedAt;
      isExplained ||= request.explain !== undefined;
      hasRules ||= request.rules !== undefined;
    }
    const version = worker.has(directory) ? undefined : this.#pool.versionOf(directory);
    const given = {
      ...{ id, directory, version, texts, alone },
      ...(isExplained && { explain: batch.explain }),
      ...(hasRules && { rules: batch.rules }),
    };
    void this.#complete(batch, worker.run(given, this.#memory.bytesOf(directory)), startedAt);
  }

  #resume(batch: RunningBatch): void {
    const { worker, id, directory, items } = batch;
    const { workMs } = this.#pool.figuresOf(directory);
    this.#queue.removeUnfinished(batch, workMs === 0 ? FIRST_WORK : LONG_MS / workMs);
    this.#round += 1;
    batch.round = this.#round;
    const alone = items.length === 1 && this.#isAlone;
    void this.#complete(batch, worker.resume(id, alone, directory), performance.now());
  }

  async #complete(batch: RunningBatch, answering: Promise<BatchAnswer>, startedAt: number): Promise<void> {
    this.#running.add(batch);
    try {
      const answer = await answering;
      this.#running.delete(batch);
      // The worker goes on with what waits while the answers are given out.
      if (!answer.isUnfinished) this.start();
      if (answer.loadedBytes !== undefined) this.#memory.trim();
      this.#count(batch, answer);
      traceBatch(batch, startedAt, answer);
      this.#deliver(batch, answer);
    } catch (thrown) {
      this.#running.delete(batch);
      this.#fail(batch, thrown);
    } finally {
      this.#afterWork();
    }
  }

  #count(batch: RunningBatch, { results, times, version }: BatchAnswer): void {
    const { items, directory, work } = batch;
    let answered = 0;
    for (const result of results) if (result !== undefined) answered += 1;
    this.#texts += answered;
    this.#stages.load += times.load;
    this.#stages.tokenize += times.tokenize;
    this.#stages.run += times.run;
    this.#stages.decode += times.decode;
    batch.elapsedMs += times.tokenize + times.run + times.decode;
    const figures = this.#pool.figuresOf(directory);
    if (version !== undefined) figures.version = version;
    if (times.load > 0) figures.loadMs = times.load;
    // The time of a partly cancelled batch can't be assigned to texts.
    if (answered === items.length) figures.add(batch.elapsedMs, items.length, work);
  }

  #deliver(batch: RunningBatch, answer: BatchAnswer): void {
    const { items, requests, round } = batch;
    for (const [at, { request, index }] of items.entries()) request.take(index, answer, at);
    for (const request of requests) {
      request.addTime(round, answer.times);
      const { predictions } = request;
      if (predictions !== undefined) this.#events.answered(request, predictions);
    }
    if (!answer.isUnfinished) return;
    // The requests ended while this answer was on its way.
    if (requests.every(({ ended }) => ended)) batch.worker.drop(batch.id, batch.directory, []);
    else this.#queue.addUnfinished(batch);
  }

  /** One of several requests may have failed the others: each is retried alone, unless the model can't be loaded. */
  #fail({ items, requests, worker, directory }: RunningBatch, thrown: unknown): void {
    const isOfModel = isOrchardError(thrown) && thrown.code === 'model_folder' && !worker.has(directory);
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

interface BatchSize {
  /** Number of workers that share the batch. */
  readonly workers: number;
  /** Its target duration on other threads. */
  readonly ms: number;
  /** Whether the calling thread runs it. */
  readonly isHere: boolean;
  readonly mayBeginLong: boolean;
}

/** Longer texts never run in the calling thread. @param workMs milliseconds per unit of work; 0 if unknown. */
function longWorkHere(workMs: number): number {
  return workMs === 0 ? FIRST_WORK_HERE : HERE_LONG_MS / workMs;
}

/** @param workMs milliseconds per unit of work; 0 if unknown. */
function limitsOf(workMs: number, { workers, ms, isHere, mayBeginLong }: BatchSize): BatchLimits {
  const isKnown = workMs > 0;
  const longWork = isKnown ? LONG_MS / workMs : FIRST_WORK;
  if (isHere) {
    const work = isKnown ? HERE_BATCH_MS / workMs : 0;
    return { work, texts: MAX_TEXTS, longWork: longWorkHere(workMs), mayBeginLong: false };
  }
  const work = workers * (isKnown ? ms / workMs : FIRST_WORK);
  return { work, texts: workers * (isKnown ? MAX_TEXTS : FIRST_TEXTS), longWork, mayBeginLong };
}
