import { isOrchardError } from '../errors.js';
import { traceBatch } from './channels.js';
import type { Predictions } from './inference-service.js';
import type { BatchAnswer, StageTimes } from './lane.js';
import type { LanePool, LaneState } from './lane-pool.js';
import type { PendingRequest } from './pending-request.js';
import type { Item, ModelQueue, RequestQueue } from './request-queue.js';
import { shareTexts } from './share-texts.js';

/**
 * How long a batch should take, in milliseconds: long enough to make handing it over cheap and to find texts of
 * similar length, short enough for other models not to wait long.
 */
const BATCH_MS = 30;
/** Texts of a batch before anything is known of the model. */
const FIRST_TEXTS = 32;
const MAX_TEXTS = 256;
/** A part of less work than this is not worth another thread, in milliseconds. */
const LEAST_PART_MS = 1;

/** What becomes of requests. */
export interface BatchEvents {
  /** A lane has become idle. */
  idle(): void;
  answered(request: PendingRequest, predictions: Predictions): void;
  failed(request: PendingRequest, thrown: unknown): void;
}

/** Texts that a lane works on. */
interface Running {
  readonly id: number;
  readonly lane: LaneState;
  readonly items: readonly Item[];
}

/** Makes batches of what waits, has lanes run them, and gives the results to the requests. */
export class Batches {
  readonly #queue: RequestQueue;
  readonly #pool: LanePool;
  readonly #events: BatchEvents;
  readonly #running = new Set<Running>();
  readonly #loading = new Set<Promise<void>>();
  readonly #stages = { load: 0, tokenize: 0, run: 0, decode: 0 };
  #texts = 0;
  #round = 0;
  #whenDrained: (() => void)[] = [];

  constructor(queue: RequestQueue, pool: LanePool, events: BatchEvents) {
    this.#queue = queue;
    this.#pool = pool;
    this.#events = events;
  }

  /** Texts answered so far. */
  get texts(): number {
    return this.#texts;
  }

  get stages(): StageTimes {
    return { ...this.#stages };
  }

  /** What the texts that wait are thought to take, in milliseconds. */
  get waitingMs(): number {
    const lanes = this.#pool.lanes.length;
    const models = this.#queue.inTurn();
    const ms = models.reduce(
      (sum, { directory, waitingTexts }) => sum + waitingTexts * this.#pool.figuresOf(directory).textMs,
      0,
    );
    return ms / lanes;
  }

  /** Gives idle lanes what waits, as far as they should run it. */
  start(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) this.#give(next.model, next.lanes);
  }

  /** What lanes have not computed of a request needn't be. */
  cancel(request: PendingRequest): void {
    for (const { id, lane, items } of this.#running) {
      const positions = items.flatMap((item, at) => (item.request === request ? [at] : []));
      if (positions.length > 0) lane.lane.cancel(id, positions);
    }
  }

  /** Resolves once nothing waits and nothing runs. */
  drained(): Promise<void> {
    if (this.#isDrained()) return Promise.resolve();
    return new Promise((resolve) => this.#whenDrained.push(resolve));
  }

  #isDrained(): boolean {
    return this.#running.size === 0 && this.#loading.size === 0 && this.#queue.waitingTexts === 0;
  }

  /** A lane has become idle. */
  #goOn(): void {
    this.#events.idle();
    if (this.#isDrained()) for (const resolve of this.#whenDrained.splice(0)) resolve();
  }

  /** The model whose turn it is, of those that an idle lane should run. */
  #next(): { readonly model: ModelQueue; readonly lanes: readonly LaneState[] } | undefined {
    if (this.#pool.idle.length === 0) return undefined;
    for (const model of this.#queue.inTurn()) {
      const lanes = this.#pool.lanesFor(model.directory);
      if (lanes.length > 0) return { model, lanes };
      model.couldHaveRun = true;
    }
    return undefined;
  }

  #give(model: ModelQueue, lanes: readonly LaneState[]): void {
    const { directory, first, couldHaveRun } = model;
    const figures = this.#pool.figuresOf(directory);
    if (couldHaveRun && first !== undefined) figures.lose(performance.now() - first.enqueuedAt);
    model.couldHaveRun = false;
    this.#spread(directory);
    const isKnown = figures.workMs > 0;
    const items = this.#queue.take(model, {
      work: lanes.length * (isKnown ? BATCH_MS / figures.workMs : Number.POSITIVE_INFINITY),
      texts: lanes.length * (isKnown ? MAX_TEXTS : FIRST_TEXTS),
    });
    const work = items.reduce((sum, item) => sum + item.work, 0);
    const parts = isKnown
      ? Math.max(1, Math.min(lanes.length, Math.floor((work * figures.workMs) / LEAST_PART_MS)))
      : lanes.length;
    const idle = this.#pool.idle.length;
    if (items.length > 1 && idle > lanes.length) figures.lose((work * figures.workMs) / (lanes.length + 1));
    const isAlone = items.length === 1 && idle === this.#pool.lanes.length && this.#queue.waitingTexts === 0;
    this.#round += 1;
    const shares = shareTexts(
      items.map((item) => item.work),
      parts,
    );
    for (const [at, positions] of shares.entries()) {
      const lane = lanes[at];
      const share = positions.flatMap((position) => items[position] ?? []);
      if (lane !== undefined) void this.#run(lane, directory, share, { isAlone, round: this.#round });
    }
  }

  /** Has a further lane load the model where that pays; until it has, the others go on. */
  #spread(directory: string): void {
    const lane = this.#pool.spreadTo(directory);
    if (lane === undefined) return;
    // What is wrong with the model is told to those who ask it.
    const loaded = lane.load(directory).catch(() => undefined);
    this.#loading.add(loaded);
    void loaded.then(() => {
      this.#loading.delete(loaded);
      this.#goOn();
    });
  }

  async #run(
    lane: LaneState,
    directory: string,
    items: readonly Item[],
    { isAlone, round }: { readonly isAlone: boolean; readonly round: number },
  ): Promise<void> {
    const texts = items.map(({ request, index }) => request.texts[index] ?? '');
    const startedAt = performance.now();
    for (const { request } of items) request.startedAt ??= startedAt;
    let running: Running | undefined;
    try {
      const answer = await lane.run({ directory, texts, alone: isAlone }, (id) => {
        running = { id, lane, items };
        this.#running.add(running);
      });
      this.#count(directory, items, answer);
      traceBatch({ directory, requests: requestsOf(items), texts: texts.length, startedAt, answer });
      this.#deliver(items, answer, round);
    } catch (thrown) {
      this.#fail(items, thrown);
    } finally {
      if (running !== undefined) this.#running.delete(running);
      this.#goOn();
    }
  }

  #count(directory: string, items: readonly Item[], answer: BatchAnswer): void {
    const answered = answer.results.filter((result) => result !== undefined).length;
    this.#texts += answered;
    this.#stages.load += answer.times.load;
    this.#stages.tokenize += answer.times.tokenize;
    this.#stages.run += answer.times.run;
    this.#stages.decode += answer.times.decode;
    // Of a batch that was cut short, nobody knows which texts its time went to.
    if (answered < items.length) return;
    const work = items.reduce((sum, item) => sum + item.work, 0);
    this.#pool.figuresOf(directory).add(answer, items.length, work);
  }

  #deliver(items: readonly Item[], answer: BatchAnswer, round: number): void {
    for (const [at, { request, index }] of items.entries()) request.take(index, answer, at);
    for (const request of requestsOf(items)) {
      request.addTime(round, answer);
      const { predictions } = request;
      if (predictions !== undefined) this.#events.answered(request, predictions);
    }
  }

  /** Of several requests, one may have failed the others: each is tried again by itself, unless the model is at fault. */
  #fail(items: readonly Item[], thrown: unknown): void {
    const requests = requestsOf(items);
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

function requestsOf(items: readonly Item[]): PendingRequest[] {
  return [...new Set(items.map(({ request }) => request))];
}
