import { isOrchardError } from '../contract/index.js';
import type { ExplanationChoice } from '../families/index.js';
import type { Predictions } from './inference-service.js';
import type { ModelMemory } from './model-memory.js';
import type { PendingRequest } from './pending-request.js';
import type { Flow, Item, Portion, RequestQueue } from './request-queue.js';
import { traceBatch, traceLoad } from './tracing.js';
import type { BatchAnswer, StageTimes } from './worker.js';
import type { LanePool, LaneState } from './worker-pool.js';

/** Texts that a lane works on, or will go on with. */
export class RunningBatch {
  /** In its lane; known once the lane was given it. */
  id = -1;
  #times: StageTimes = { load: 0, tokenize: 0, run: 0, decode: 0 };

  constructor(
    readonly lane: LaneState,
    /** Whose turns it takes. */
    readonly flow: Flow,
    readonly items: readonly Item[],
    /** Batches of one round run side by side. */
    public round: number,
  ) {}

  get texts(): string[] {
    return this.items.map(({ request, index }) => request.texts[index] ?? '');
  }

  /** What to explain of each text; undefined if nothing is to be explained. */
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

  /** UTF-16 code units of its texts. */
  get characters(): number {
    return this.items.reduce((sum, { request, index }) => sum + (request.texts[index]?.length ?? 0), 0);
  }

  /** Whether nobody waits for it any more. */
  get isGivenUp(): boolean {
    return this.items.every(({ request }) => request.ended);
  }

  /** What all slices took, this one included. */
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

/**
 * Splits texts into parts of about equal work. Texts of similar work, and so of similar length, go together, so that
 * each part needs little padding.
 * @param work of each text.
 * @returns positions in `work`, part by part; no part is empty, so there may be fewer than asked for.
 */
export function shareTexts(work: readonly number[], parts: number): number[][] {
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

/**
 * How long a batch should take, in milliseconds: long enough to make handing it over cheap and to find texts of
 * similar length, short enough for other models not to wait long.
 */
const BATCH_MS = 30;
/** Texts of a batch before anything is known of the model, and their work: some 40 short pages. */
const FIRST_TEXTS = 32;
const FIRST_WORK = 20_000;
const MAX_TEXTS = 256;
/** A text that takes longer goes by itself, in slices. */
const LONG_MS = 2 * BATCH_MS;
/** Long texts that a lane may have begun with: each keeps its tokens and outputs, tens of megabytes at most. */
const MAX_UNFINISHED = 4;
/** A part of less work than this is not worth another thread, in milliseconds. */
const LEAST_PART_MS = 1;

/** What becomes of requests. */
interface BatchEvents {
  /** A lane has become idle. */
  idle(): void;
  answered(request: PendingRequest, predictions: Predictions): void;
  failed(request: PendingRequest, thrown: unknown): void;
}

/** Makes batches of what waits, has lanes run them, and gives the results to the requests. */
export class Batches {
  readonly #queue: RequestQueue;
  readonly #pool: LanePool;
  readonly #memory: ModelMemory;
  readonly #events: BatchEvents;
  readonly #running = new Set<RunningBatch>();
  readonly #loading = new Set<Promise<void>>();
  readonly #stages = { load: 0, tokenize: 0, run: 0, decode: 0 };
  #texts = 0;
  #round = 0;
  #whenDrained: (() => void)[] = [];

  constructor(queue: RequestQueue, pool: LanePool, memory: ModelMemory, events: BatchEvents) {
    this.#queue = queue;
    this.#pool = pool;
    this.#memory = memory;
    this.#events = events;
  }

  /** Texts answered so far. */
  get texts(): number {
    return this.#texts;
  }

  get stages(): StageTimes {
    return { ...this.#stages };
  }

  /** Batches that run, and those that wait for their next slice. */
  get begun(): RunningBatch[] {
    return [...this.#running, ...this.#queue.unfinished];
  }

  /** What the texts that wait are thought to take, in milliseconds. */
  get waitingMs(): number {
    const lanes = this.#pool.lanes.length;
    const flows = this.#queue.inTurn();
    const ms = flows.reduce(
      (sum, { directory, waitingTexts }) => sum + waitingTexts * this.#pool.figuresOf(directory).textMs,
      0,
    );
    return ms / lanes;
  }

  /** Gives idle lanes what waits, as far as they should run it. */
  start(): void {
    while (this.#pool.lanes.some(({ isBusy }) => !isBusy)) {
      if (!this.#queue.inTurn().some((flow) => this.#serve(flow))) return;
    }
  }

  /** What lanes have not computed of a request needn't be. */
  cancel(request: PendingRequest): void {
    for (const { id, lane, items } of this.#running) {
      const positions = positionsOf(request, items);
      if (positions.length > 0) lane.lane.cancel(id, positions);
    }
    for (const batch of this.#queue.unfinished) {
      const { id, lane, items, flow } = batch;
      const positions = positionsOf(request, items);
      if (positions.length === 0) continue;
      if (items.some((item) => item.request !== request && !item.request.ended)) {
        lane.lane.cancel(id, positions);
      } else {
        this.#queue.removeUnfinished(batch, 0);
        lane.drop(id, flow.directory, positions);
      }
    }
  }

  /** Fails everything that has not been answered. */
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

  /** A lane has become idle. */
  #goOn(): void {
    this.#events.idle();
    if (this.#whenDrained.length === 0 || !this.#isDrained()) return;
    for (const resolve of this.#whenDrained.splice(0)) resolve();
  }

  /** Gives a lane something of a flow: texts that wait and an unfinished batch by turns. @returns whether one could run it */
  #serve(flow: Flow): boolean {
    const unfinished = flow.unfinished.find(({ lane }) => !lane.isBusy);
    if (unfinished === undefined) return this.#take(flow);
    if (!flow.tookLast && this.#take(flow)) return true;
    this.#resume(unfinished);
    return true;
  }

  #take(flow: Flow): boolean {
    const { directory, first, couldHaveRun } = flow;
    if (first === undefined) return false;
    const lanes = this.#pool.lanesFor(directory);
    flow.couldHaveRun = lanes.length === 0;
    if (lanes.length === 0) return false;
    const figures = this.#pool.figuresOf(directory);
    const forLong = lanes.find((lane) => lane.unfinished < MAX_UNFINISHED && !isBegunOn(lane, flow));
    const items = this.#queue.take(flow, portionOf(figures.workMs, lanes.length, forLong !== undefined));
    if (items.length === 0) return false;
    if (couldHaveRun) figures.lose(performance.now() - first.enqueuedAt);
    this.#spread(directory);
    const isLong = items.length === 1 && forLong !== undefined;
    this.#share(flow, isLong ? [forLong] : lanes, items);
    return true;
  }

  /** Spreads texts over the lanes that have their model. */
  #share(flow: Flow, lanes: readonly LaneState[], items: readonly Item[]): void {
    const figures = this.#pool.figuresOf(flow.directory);
    const isKnown = figures.workMs > 0;
    const work = items.reduce((sum, item) => sum + item.work, 0);
    const parts = isKnown
      ? Math.max(1, Math.min(lanes.length, Math.floor((work * figures.workMs) / LEAST_PART_MS)))
      : lanes.length;
    const idle = this.#pool.idle.length;
    if (items.length > 1 && idle > lanes.length) figures.lose((work * figures.workMs) / (lanes.length + 1));
    const isAlone = items.length === 1 && this.#isAlone();
    this.#round += 1;
    const shares = shareTexts(
      items.map((item) => item.work),
      parts,
    );
    for (const [at, positions] of shares.entries()) {
      const lane = lanes[at];
      const share = positions.flatMap((position) => items[position] ?? []);
      if (lane !== undefined) this.#begin(new RunningBatch(lane, flow, share, this.#round), isAlone);
    }
  }

  /** Whether nothing else runs or waits. */
  #isAlone(): boolean {
    return this.#pool.lanes.every(({ isBusy }) => !isBusy) && this.#queue.isEmpty;
  }

  /** Has a further lane load the model where that pays; until it has, the others go on. */
  #spread(directory: string): void {
    const lane = this.#pool.spreadTo(directory);
    if (lane === undefined) return;
    const startedAt = performance.now();
    const loaded = lane.load(directory, this.#memory.bytesOf(directory)).then(
      ({ ms }) => traceLoad(directory, startedAt, ms),
      // What is wrong with the model is told to those who ask it.
      () => undefined,
    );
    this.#loading.add(loaded);
    void loaded.then(() => {
      this.#loading.delete(loaded);
      this.#goOn();
    });
  }

  #begin(batch: RunningBatch, alone: boolean): void {
    const startedAt = performance.now();
    const { lane, flow, items, texts, explain } = batch;
    const { directory } = flow;
    for (const { request } of items) request.startedAt ??= startedAt;
    const bytes = this.#memory.bytesOf(directory);
    const started = (id: number) => {
      batch.id = id;
    };
    const given = { directory, texts, alone, ...(explain && { explain }) };
    void this.#runs(batch, lane.run(given, bytes, started), startedAt);
  }

  #resume(batch: RunningBatch): void {
    const { workMs } = this.#pool.figuresOf(batch.flow.directory);
    this.#queue.removeUnfinished(batch, portionOf(workMs, 1, false).longWork);
    this.#round += 1;
    batch.round = this.#round;
    const alone = batch.items.length === 1 && this.#isAlone();
    const { lane, id, flow } = batch;
    void this.#runs(batch, lane.resume(id, alone, flow.directory, batch.items.length), performance.now());
  }

  async #runs(batch: RunningBatch, answering: Promise<BatchAnswer>, startedAt: number): Promise<void> {
    this.#running.add(batch);
    try {
      const answer = await answering;
      this.#running.delete(batch);
      if (answer.loadedBytes !== undefined) this.#memory.trim();
      const { items, flow, requests } = batch;
      this.#count(batch, answer);
      traceBatch({ directory: flow.directory, requests, texts: items.length, startedAt, answer });
      this.#deliver(batch, answer);
    } catch (thrown) {
      this.#running.delete(batch);
      this.#fail(batch, thrown);
    } finally {
      this.#goOn();
    }
  }

  #count(batch: RunningBatch, answer: BatchAnswer): void {
    const { items, flow, work } = batch;
    const answered = answer.results.filter((result) => result !== undefined).length;
    this.#texts += answered;
    this.#stages.load += answer.times.load;
    this.#stages.tokenize += answer.times.tokenize;
    this.#stages.run += answer.times.run;
    this.#stages.decode += answer.times.decode;
    const times = batch.add(answer);
    // Of a batch that was cut short, nobody knows which texts its time went to.
    if (answered === items.length) this.#pool.figuresOf(flow.directory).add(times, items.length, work);
  }

  #deliver(batch: RunningBatch, answer: BatchAnswer): void {
    for (const [at, { request, index }] of batch.items.entries()) request.take(index, answer, at);
    for (const request of batch.requests) {
      request.addTime(batch.round, answer.times);
      const { predictions } = request;
      if (predictions !== undefined) this.#events.answered(request, predictions);
    }
    if (!answer.isUnfinished) return;
    // Who gave it up while its answer was on the way has told the lane.
    if (batch.isGivenUp) batch.lane.drop(batch.id, batch.flow.directory, []);
    else this.#queue.addUnfinished(batch);
  }

  /** Of several requests, one may have failed the others: each is tried again by itself, unless the model is at fault. */
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

/** @param workMs of the model's figures. @param lanes that may share the texts. */
function portionOf(workMs: number, lanes: number, mayBeginLong: boolean): Portion {
  if (workMs === 0) {
    return { work: lanes * FIRST_WORK, texts: lanes * FIRST_TEXTS, longWork: FIRST_WORK, mayBeginLong };
  }
  const longWork = LONG_MS / workMs;
  return { work: (lanes * BATCH_MS) / workMs, texts: lanes * MAX_TEXTS, longWork, mayBeginLong };
}

function isBegunOn(lane: LaneState, flow: Flow): boolean {
  return flow.unfinished.some((batch) => batch.lane === lane);
}

function positionsOf(request: PendingRequest, items: readonly Item[]): number[] {
  return items.flatMap((item, at) => (item.request === request ? [at] : []));
}
