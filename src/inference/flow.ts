import type { PendingRequest } from './pending-request.js';
import type { RunningBatch } from './running-batch.js';
import type { TurnTaker } from './turns.js';

/** One text of a request. */
export interface Item {
  readonly request: PendingRequest;
  readonly index: number;
  readonly work: number;
}

/** How much of what waits to take at once. */
export interface Portion {
  /** Bound on the work of all texts together; the first is taken whatever its work. */
  readonly work: number;
  readonly texts: number;
  /** A text of more work takes several slices: it goes by itself. */
  readonly longWork: number;
  /** Whether there is a lane that may begin with a long text. */
  readonly mayBeginLong: boolean;
}

/** Texts that are taken for a batch. */
export class Taken {
  readonly items: Item[] = [];
  work = 0;
  /** Whether no further text goes with them. */
  isFull = false;
  readonly #portion: Portion;

  constructor(portion: Portion) {
    this.#portion = portion;
  }

  /** @returns whether it takes the text. */
  add(request: PendingRequest, index: number): boolean {
    const { work, texts, longWork, mayBeginLong } = this.#portion;
    const own = request.workOf(index);
    const isLong = own > longWork;
    const isFirst = this.items.length === 0;
    // Shorter texts behind it may still be taken.
    if (isLong && !(isFirst && mayBeginLong)) return false;
    if (!isFirst && (this.work + own > work || this.items.length >= texts)) {
      this.isFull = true;
      return false;
    }
    this.items.push({ request, index, work: own });
    this.work += own;
    if (isLong) this.isFull = true;
    return true;
  }

  /** Whether a request's texts go with those that were taken. */
  fits({ solo }: PendingRequest): boolean {
    const first = this.items[0]?.request;
    return first === undefined || !(solo || first.solo);
  }
}

/** What waits for one model on behalf of one account, first in, first out; long texts may be passed by short ones. */
export class Flow implements TurnTaker {
  served = 0;
  /** Whether a lane was idle while texts waited for one that has the model. */
  couldHaveRun = false;
  /** Whether its last turn was for texts that waited, and not for an unfinished batch. */
  tookLast = false;
  /** Batches that their lanes have begun with, and wait for their next slice. */
  readonly unfinished: RunningBatch[] = [];
  #requests: PendingRequest[] = [];
  #texts = 0;

  constructor(
    readonly account: string,
    readonly directory: string,
  ) {}

  get first(): PendingRequest | undefined {
    return this.#requests[0];
  }

  get requests(): readonly PendingRequest[] {
    return this.#requests;
  }

  get waitingTexts(): number {
    return this.#texts;
  }

  get isEmpty(): boolean {
    return this.#requests.length === 0 && this.unfinished.length === 0;
  }

  add(request: PendingRequest): void {
    this.#texts += request.waiting;
    if (request.solo) this.#requests.unshift(request);
    else this.#requests.push(request);
  }

  /** @returns whether it was there. */
  remove(request: PendingRequest): boolean {
    const at = this.#requests.indexOf(request);
    if (at < 0) return false;
    this.#requests.splice(at, 1);
    this.#texts -= request.waiting;
    return true;
  }

  /** Adds to what is taken, in the order in which it came, those of a solo request by themselves. @returns the work */
  take(taken: Taken): number {
    const before = { work: taken.work, texts: taken.items.length };
    let areDone = false;
    for (const request of this.#requests) {
      if (taken.isFull || !taken.fits(request)) break;
      while (request.waiting > 0 && !taken.isFull && taken.add(request, request.next)) request.next += 1;
      if (request.waiting === 0) areDone = true;
    }
    if (areDone) this.#requests = this.#requests.filter(({ waiting }) => waiting > 0);
    this.#texts -= taken.items.length - before.texts;
    return taken.work - before.work;
  }
}
