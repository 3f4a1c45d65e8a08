import { Flow, type Item, type Portion, Taken } from './flow.js';
import type { PendingRequest } from './pending-request.js';
import type { RunningBatch } from './running-batch.js';
import { Turns, type TurnTaker } from './turns.js';

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
