import type { RunningBatch } from './batches.js';
import type { PendingRequest } from './pending-request.js';

/** Somebody who takes turns with others, by the work that was done for each. */
interface TurnTaker {
  /** Work so far: who has least is next. */
  served: number;
}

/**
 * Start-time fair queueing (Goyal et al. 1996): who comes after a pause is level with what is being served now, so that
 * idle time earns no turns, and keeps what it was ahead by, so that leaving for a moment earns none either.
 */
class Turns {
  /** How much its taker had been served when the turn that was given last began. */
  #now = 0;

  /** Somebody has something to do (again). */
  join(taker: TurnTaker): void {
    taker.served = Math.max(taker.served, this.#now);
  }

  serve(taker: TurnTaker, work: number): void {
    this.#now = Math.max(this.#now, taker.served);
    taker.served += work;
  }

  /** Whether forgetting somebody who has nothing to do makes no difference. */
  canForget({ served }: TurnTaker): boolean {
    return served <= this.#now;
  }
}

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
class Taken {
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

/** When so many accounts and models are remembered, those that have nothing waiting are forgotten. */
const MANY_FLOWS = 500;

/** An account's models take turns among each other, as the accounts do. */
interface AccountFlows extends TurnTaker {
  readonly flows: Map<string, Flow>;
  readonly turns: Turns;
}

/**
 * What waits for all models. Accounts take turns by the work that was done for them, and so do the models of one account:
 * neither an account nor a model that is asked a lot holds up another.
 */
export class RequestQueue {
  readonly #accounts = new Map<string, AccountFlows>();
  readonly #turns = new Turns();
  #flows = 0;
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
    return this.#all().reduce((sum, { requests }) => sum + requests.length, 0);
  }

  /** Batches that wait for their next slice. */
  get unfinished(): RunningBatch[] {
    return this.#all().flatMap(({ unfinished }) => unfinished);
  }

  /** Whether nothing waits, neither to begin nor to go on. */
  get isEmpty(): boolean {
    return this.#texts === 0 && this.#all().every(({ isEmpty }) => isEmpty);
  }

  /** What has something waiting, that whose turn it is first. */
  inTurn(): Flow[] {
    const waiting: { readonly flow: Flow; readonly account: AccountFlows }[] = [];
    for (const account of this.#accounts.values()) {
      for (const flow of account.flows.values()) if (!flow.isEmpty) waiting.push({ flow, account });
    }
    if (waiting.length > 1) {
      waiting.sort((a, b) => a.account.served - b.account.served || a.flow.served - b.flow.served);
    }
    return waiting.map(({ flow }) => flow);
  }

  waitingFor(directory: string): number {
    return this.#all().reduce((sum, flow) => sum + (flow.directory === directory ? flow.waitingTexts : 0), 0);
  }

  /** All requests that have texts waiting. */
  requests(): PendingRequest[] {
    return this.#all().flatMap(({ requests }) => requests);
  }

  add(request: PendingRequest): void {
    this.#joined(request.account, request.directory).add(request);
    this.#count(request, 1);
  }

  /** Takes a request out of the queue; without effect if all of its texts were taken, or it never came in. */
  remove(request: PendingRequest): void {
    const flow = this.#accounts.get(request.account)?.flows.get(request.directory);
    if (flow?.remove(request)) this.#count(request, -1);
  }

  /** Has a batch wait for its next slice. */
  addUnfinished(batch: RunningBatch): void {
    this.#joined(batch.flow.account, batch.flow.directory).unfinished.push(batch);
  }

  /** @param work what its next slice counts; 0 if it leaves for good. */
  removeUnfinished(batch: RunningBatch, work: number): void {
    const account = this.#accounts.get(batch.flow.account);
    const flow = account?.flows.get(batch.flow.directory);
    const at = flow?.unfinished.indexOf(batch) ?? -1;
    if (account === undefined || flow === undefined || at < 0) return;
    flow.unfinished.splice(at, 1);
    flow.tookLast = false;
    this.#serve(account, flow, work);
  }

  /** Takes texts of a flow, and as there is room those of other accounts that wait for the same model. */
  take(flow: Flow, portion: Portion): Item[] {
    const taken = new Taken(portion);
    const others = this.#accounts.size > 1 ? this.inTurn() : [];
    const same = others.filter((other) => other !== flow && other.directory === flow.directory);
    for (const each of [flow, ...same]) {
      if (taken.isFull) break;
      const work = each.take(taken);
      const account = this.#accounts.get(each.account);
      // A long text counts slice by slice.
      if (work > 0 && account) this.#serve(account, each, Math.min(work, portion.work));
      if (work > 0) each.tookLast = true;
    }
    this.#texts -= taken.items.length;
    for (const { request, index } of taken.items) this.#characters -= request.texts[index]?.length ?? 0;
    return taken.items;
  }

  #all(): Flow[] {
    return [...this.#accounts.values()].flatMap(({ flows }) => [...flows.values()]);
  }

  #serve(account: AccountFlows, flow: Flow, work: number): void {
    this.#turns.serve(account, work);
    account.turns.serve(flow, work);
  }

  /** The flow of an account and model that has something waiting from now on. */
  #joined(id: string, directory: string): Flow {
    if (this.#flows >= MANY_FLOWS) this.#forgetIdle();
    const account = this.#accounts.get(id) ?? {
      served: 0,
      flows: new Map<string, Flow>(),
      turns: new Turns(),
    };
    this.#accounts.set(id, account);
    if ([...account.flows.values()].every(({ isEmpty }) => isEmpty)) this.#turns.join(account);
    const known = account.flows.get(directory);
    const flow = known ?? new Flow(id, directory);
    if (known === undefined) {
      account.flows.set(directory, flow);
      this.#flows += 1;
    }
    if (flow.isEmpty) account.turns.join(flow);
    return flow;
  }

  #forgetIdle(): void {
    for (const [id, account] of this.#accounts) {
      for (const [directory, flow] of account.flows) {
        if (!flow.isEmpty || !account.turns.canForget(flow)) continue;
        account.flows.delete(directory);
        this.#flows -= 1;
      }
      if (account.flows.size === 0 && this.#turns.canForget(account)) this.#accounts.delete(id);
    }
  }

  #count({ texts, next }: PendingRequest, sign: 1 | -1): void {
    this.#texts += sign * (texts.length - next);
    for (let at = next; at < texts.length; at += 1) this.#characters += sign * (texts[at]?.length ?? 0);
  }
}
