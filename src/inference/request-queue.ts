import type { PendingRequest } from './pending-request.js';
import { textWork } from './text-work.js';

/** One text of a request. */
export interface Item {
  readonly request: PendingRequest;
  readonly index: number;
  readonly work: number;
}

/** How much of a queue to take at once. */
export interface Portion {
  /** Bound on the work of all texts together; the first is taken whatever its work. */
  readonly work: number;
  readonly texts: number;
}

/** What waits for one model, first in, first out. */
export class ModelQueue {
  readonly directory: string;
  readonly #requests: PendingRequest[] = [];
  #texts = 0;
  /** Work that was given to lanes, in turns: the model with the least is next. */
  served = 0;
  /** Whether a lane was idle while texts waited for one that has the model. */
  couldHaveRun = false;

  constructor(directory: string) {
    this.directory = directory;
  }

  get first(): PendingRequest | undefined {
    return this.#requests[0];
  }

  get requests(): number {
    return this.#requests.length;
  }

  get waitingTexts(): number {
    return this.#texts;
  }

  add(request: PendingRequest): void {
    this.#texts += request.waiting;
    if (request.solo) this.#requests.unshift(request);
    else this.#requests.push(request);
  }

  remove(request: PendingRequest): void {
    const at = this.#requests.indexOf(request);
    if (at < 0) return;
    this.#requests.splice(at, 1);
    this.#texts -= request.waiting;
  }

  /** Takes texts in the order in which they came, those of a solo request by themselves. */
  take(portion: Portion): Item[] {
    const items: Item[] = [];
    let work = 0;
    let done = 0;
    for (const request of this.#requests) {
      if (items.length > 0 && (request.solo || items[0]?.request.solo)) break;
      while (request.waiting > 0) {
        const own = textWork(request.texts[request.next] ?? '');
        if (items.length > 0 && (work + own > portion.work || items.length >= portion.texts)) break;
        items.push({ request, index: request.next, work: own });
        work += own;
        request.next += 1;
      }
      if (request.waiting > 0) break;
      done += 1;
    }
    this.#requests.splice(0, done);
    this.#texts -= items.length;
    this.served += work;
    return items;
  }
}

/**
 * What waits for all models. Models take turns by the work that was done for them, so that one that is asked a lot
 * does not hold up another (start-time fair queueing, Goyal et al. 1996).
 */
export class RequestQueue {
  readonly #models = new Map<string, ModelQueue>();
  #texts = 0;
  #characters = 0;

  get waitingTexts(): number {
    return this.#texts;
  }

  /** UTF-16 code units of the texts that wait. */
  get waitingCharacters(): number {
    return this.#characters;
  }

  get waitingRequests(): number {
    return [...this.#models.values()].reduce((sum, { requests }) => sum + requests, 0);
  }

  /** The models that texts wait for, the one whose turn it is first. */
  inTurn(): ModelQueue[] {
    return [...this.#models.values()].sort((a, b) => a.served - b.served);
  }

  waitingFor(directory: string): number {
    return this.#models.get(directory)?.waitingTexts ?? 0;
  }

  add(request: PendingRequest): void {
    const known = this.#models.get(request.directory);
    const model = known ?? this.#join(request.directory);
    model.add(request);
    this.#count(request, 1);
  }

  /** Takes a request out of the queue; without effect if all of its texts were taken. */
  remove(request: PendingRequest): void {
    if (request.waiting === 0) return;
    const model = this.#models.get(request.directory);
    this.#count(request, -1);
    model?.remove(request);
    if (model !== undefined) this.#leaveIfEmpty(model);
  }

  take(model: ModelQueue, portion: Portion): Item[] {
    const items = model.take(portion);
    this.#texts -= items.length;
    for (const { request, index } of items) this.#characters -= request.texts[index]?.length ?? 0;
    this.#leaveIfEmpty(model);
    return items;
  }

  /** A model that had nothing to wait for starts level with the one that is next: idle time earns no turns. */
  #join(directory: string): ModelQueue {
    const model = new ModelQueue(directory);
    model.served = Math.min(...[...this.#models.values()].map(({ served }) => served), Number.MAX_VALUE);
    if (model.served === Number.MAX_VALUE) model.served = 0;
    this.#models.set(directory, model);
    return model;
  }

  #leaveIfEmpty(model: ModelQueue): void {
    if (model.first === undefined) this.#models.delete(model.directory);
  }

  #count({ texts, next }: PendingRequest, sign: 1 | -1): void {
    this.#texts += sign * (texts.length - next);
    for (let at = next; at < texts.length; at += 1) this.#characters += sign * (texts[at]?.length ?? 0);
  }
}
