import { type AnswerDetail, MAX_LEFT_OUT, type ModelResult } from '../families/index.js';
import type { RunningBatch } from './batch-scheduler.js';
import type { Predictions } from './inference-service.js';
import type { RequestTrace } from './tracing.js';
import type { BatchAnswer, StageTimes } from './worker.js';

/** Fixed work of a text, in bytes: special tokens and a share of starting a run. */
const TEXT_COST = 20;
/** Attention grows with the square of the length: in a mini, a sixth of the work of a text of 1,000 bytes. */
const SQUARE_COST = 1.5e-4;
/** Longer texts are truncated or read in windows, so that their work grows linearly. */
const SQUARE_LIMIT = 2000;

/** Characters of a word and the space before it, roughly. */
const WORD = 6;

/** A request and its answer so far. Its texts go to workers in their order, in one batch or several. */
export class PendingRequest {
  readonly enqueuedAt = performance.now();
  /** The first text that is not in a batch yet. */
  next = 0;
  /** Whether it must not share a batch, since a shared batch has failed. */
  solo = false;
  /** When its first text went to a worker, by `performance.now`. */
  startedAt: number | undefined;
  /** Set while a tracing tool listens. */
  trace: RequestTrace | undefined;
  explain: AnswerDetail | undefined;
  noneOfThese = false;
  rules: string | false | undefined;
  readonly #results: (ModelResult | undefined)[];
  readonly #truncated: number[] = [];
  readonly #whenEnded: (() => void)[] = [];
  /** Whether it has been answered, refused or given up. */
  ended = false;
  #unanswered: number;
  #elapsedMs = 0;
  /** Time of the current round: its longest batch, since they run in parallel. */
  #round = { id: -1, elapsedMs: 0 };

  constructor(
    readonly directory: string,
    readonly texts: readonly string[],
    readonly resolve: (predictions: Predictions) => void,
    readonly reject: (thrown: unknown) => void,
    readonly account = '',
  ) {
    this.#results = new Array(texts.length);
    this.#unanswered = texts.length;
  }

  get waiting(): number {
    return this.texts.length - this.next;
  }

  /** Estimated work of a text, in bytes of a short text; an explained one is read again without each of its words. */
  workOf(index: number): number {
    // A character of Chinese has three bytes and is a token of its own; one of English is a fifth of a token.
    const length = Buffer.byteLength(this.texts[index] ?? '');
    const work = TEXT_COST + length + SQUARE_COST * length * Math.min(length, SQUARE_LIMIT);
    return this.explain === undefined || this.explain === 'doubts'
      ? work
      : work * (1 + Math.min(MAX_LEFT_OUT, length / WORD));
  }

  onEnd(ending: () => void): void {
    this.#whenEnded.push(ending);
  }

  end(): void {
    this.ended = true;
    for (const ending of this.#whenEnded) ending();
  }

  /** Returns the texts from a position on to the queue, to run without those of other requests. */
  retryAlone(from: number): void {
    this.solo = true;
    this.next = Math.min(this.next, from);
  }

  take(index: number, answer: BatchAnswer, at: number): void {
    const result = answer.results[at];
    if (result === undefined || this.#results[index] !== undefined) return;
    this.#results[index] = result;
    this.#unanswered -= 1;
    if (answer.truncated.includes(at)) this.#truncated.push(index);
  }

  /** Adds the time of a batch. @param round batches of one round run in parallel. */
  addTime(round: number, times: StageTimes): void {
    const elapsedMs = times.tokenize + times.run + times.decode;
    if (round !== this.#round.id) this.#round = { id: round, elapsedMs: 0 };
    const more = Math.max(0, elapsedMs - this.#round.elapsedMs);
    this.#round.elapsedMs += more;
    this.#elapsedMs += more;
  }

  /** The answer; undefined until every text has a result. */
  get predictions(): Predictions | undefined {
    if (this.#unanswered > 0) return undefined;
    const results: ModelResult[] = [];
    for (const result of this.#results) {
      if (result === undefined) continue;
      const { none_of_these, ...documented } = result;
      results.push(this.noneOfThese || none_of_these === undefined ? result : documented);
    }
    return { results, elapsedMs: this.#elapsedMs, truncated: this.#truncated.sort((a, b) => a - b) };
  }

  /** Whether the model has no threshold for what was asked. */
  get lacksThreshold(): boolean {
    return this.noneOfThese && this.#results.some((result) => result?.none_of_these === undefined);
  }
}

/** Takes turns with others, by the work done for each. */
interface FairQueueMember {
  /** Work done so far: the member with the least is next. */
  served: number;
}

/**
 * Start-time fair queueing (Goyal et al. 1996). A member that returns after a pause starts level with the work that is
 * being served now, so that idle time earns no turns; one that was ahead stays ahead, so that a short pause earns none.
 */
class FairQueue {
  /** Virtual time: the work of the last served member at the start of its turn. */
  #now = 0;

  /** Adds a member that has work, for the first time or again. */
  join(member: FairQueueMember): void {
    member.served = Math.max(member.served, this.#now);
  }

  serve(member: FairQueueMember, work: number): void {
    this.#now = Math.max(this.#now, member.served);
    member.served += work;
  }

  /** Whether a member without work can be removed without effect on its later turns. */
  canForget({ served }: FairQueueMember): boolean {
    return served <= this.#now;
  }
}

export interface Item {
  readonly request: PendingRequest;
  readonly index: number;
  readonly work: number;
}

export interface BatchLimits {
  /** Most work of all texts together; the first text may exceed it. */
  readonly work: number;
  readonly texts: number;
  /** A text of more work is a batch of its own, computed in slices. */
  readonly longWork: number;
  /** Whether a worker is free for a long text. */
  readonly mayBeginLong: boolean;
}

/** A batch that texts are added to, as far as its limits allow. */
interface Draft {
  readonly items: Item[];
  readonly limits: BatchLimits;
  work: number;
  isFull: boolean;
}

function addText(draft: Draft, request: PendingRequest): boolean {
  const { items, limits } = draft;
  const own = request.workOf(request.next);
  const isLong = own > limits.longWork;
  const isFirst = items.length === 0;
  // Shorter texts behind it may still fit.
  if (isLong && !(isFirst && limits.mayBeginLong)) return false;
  if (!isFirst && (draft.work + own > limits.work || items.length >= limits.texts)) {
    draft.isFull = true;
    return false;
  }
  items.push({ request, index: request.next, work: own });
  draft.work += own;
  if (isLong) draft.isFull = true;
  return true;
}

/** What waits for one model and account: first in, first out, but short texts may pass long ones. */
export class ModelQueue implements FairQueueMember {
  served = 0;
  /** Whether a worker was idle while texts waited for a worker that has the model. */
  couldHaveRun = false;
  /** Whether its last turn went to waiting texts rather than to an unfinished batch. */
  tookTexts = false;
  /** Batches that wait for their next slice. */
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

  remove(request: PendingRequest): boolean {
    const at = this.#requests.indexOf(request);
    if (at < 0) return false;
    this.#requests.splice(at, 1);
    this.#texts -= request.waiting;
    return true;
  }

  /** Moves texts to a batch in their order; a solo request shares no batch. @returns their work. */
  take(draft: Draft): number {
    const { work, items } = draft;
    const texts = items.length;
    let areDone = false;
    for (const request of this.#requests) {
      const first = items[0]?.request;
      if (draft.isFull || (first !== undefined && (first.solo || request.solo))) break;
      while (request.waiting > 0 && !draft.isFull && addText(draft, request)) request.next += 1;
      if (request.waiting === 0) areDone = true;
    }
    if (areDone) this.#requests = this.#requests.filter(({ waiting }) => waiting > 0);
    this.#texts -= items.length - texts;
    return draft.work - work;
  }
}

/** Beyond this number, queues that are empty are removed. */
const MAX_REMEMBERED_QUEUES = 500;

/** What waits. */
export interface Waiting {
  readonly texts: number;
  readonly characters: number;
}

const NOTHING: Waiting = { texts: 0, characters: 0 };

interface AccountQueues extends FairQueueMember {
  readonly queues: Map<string, ModelQueue>;
  readonly fairQueue: FairQueue;
  waiting: Waiting;
}

/** Accounts take turns by the work done for them, and so do the models of one account: none holds up another. */
export class RequestQueue {
  readonly #accounts = new Map<string, AccountQueues>();
  readonly #fairQueue = new FairQueue();
  #waiting: Waiting = NOTHING;
  #queueCount = 0;
  #unfinished = 0;

  get waiting(): Waiting {
    return this.#waiting;
  }

  waitingOf(account: string): Waiting {
    return this.#accounts.get(account)?.waiting ?? NOTHING;
  }

  /** The account with the largest share of what waits. @param shareOf compares what accounts have waiting */
  largest(shareOf: (waiting: Waiting) => number): string | undefined {
    const [first] = [...this.#accounts].sort(([, a], [, b]) => shareOf(b.waiting) - shareOf(a.waiting));
    return first?.[0];
  }

  /** The latest request of an account of which nothing has gone to a worker. */
  latestOf(account: string): PendingRequest | undefined {
    const queues = [...(this.#accounts.get(account)?.queues.values() ?? [])];
    const requests = queues.flatMap(({ requests }) => requests.filter(({ next, solo }) => next === 0 && !solo));
    return requests.reduce<PendingRequest | undefined>(
      (latest, each) => (latest === undefined || each.enqueuedAt >= latest.enqueuedAt ? each : latest),
      undefined,
    );
  }

  get waitingRequests(): number {
    return this.#all().reduce((sum, { requests }) => sum + requests.length, 0);
  }

  get unfinished(): RunningBatch[] {
    return this.#all().flatMap(({ unfinished }) => unfinished);
  }

  get isEmpty(): boolean {
    return this.#waiting.texts === 0 && this.#unfinished === 0;
  }

  inOrder(): ModelQueue[] {
    const waiting: { readonly queue: ModelQueue; readonly account: AccountQueues }[] = [];
    for (const account of this.#accounts.values()) {
      for (const queue of account.queues.values()) if (!queue.isEmpty) waiting.push({ queue, account });
    }
    if (waiting.length > 1) {
      waiting.sort((a, b) => a.account.served - b.account.served || a.queue.served - b.queue.served);
    }
    return waiting.map(({ queue }) => queue);
  }

  waitingFor(directory: string): number {
    return this.#all().reduce((sum, queue) => sum + (queue.directory === directory ? queue.waitingTexts : 0), 0);
  }

  requests(): PendingRequest[] {
    return this.#all().flatMap(({ requests }) => requests);
  }

  add(request: PendingRequest): void {
    this.#joined(request.account, request.directory).add(request);
    this.#count(request, 1);
  }

  /** Removes a request's waiting texts, if there are any. */
  remove(request: PendingRequest): void {
    const queue = this.#accounts.get(request.account)?.queues.get(request.directory);
    if (queue?.remove(request)) this.#count(request, -1);
  }

  addUnfinished(batch: RunningBatch): void {
    this.#joined(batch.account, batch.directory).unfinished.push(batch);
    this.#unfinished += 1;
  }

  /** @param work the work of its next slice; 0 if there is none. */
  removeUnfinished(batch: RunningBatch, work: number): void {
    const account = this.#accounts.get(batch.account);
    const queue = account?.queues.get(batch.directory);
    const at = queue?.unfinished.indexOf(batch) ?? -1;
    if (account === undefined || queue === undefined || at < 0) return;
    queue.unfinished.splice(at, 1);
    this.#unfinished -= 1;
    queue.tookTexts = false;
    this.#serve(account, queue, work);
  }

  /** Takes texts of a queue and, while there is room, texts of other accounts for the same model. */
  take(queue: ModelQueue, limits: BatchLimits): Item[] {
    const draft: Draft = { items: [], limits, work: 0, isFull: false };
    const others = this.#accounts.size > 1 ? this.inOrder() : [];
    const same = others.filter((other) => other !== queue && other.directory === queue.directory);
    for (const each of [queue, ...same]) {
      if (draft.isFull) break;
      const work = each.take(draft);
      const account = this.#accounts.get(each.account);
      // A long text counts slice by slice.
      if (work > 0 && account) this.#serve(account, each, Math.min(work, limits.work));
      if (work > 0) each.tookTexts = true;
    }
    for (const { request, index } of draft.items) {
      this.#add(request.account, -1, -(request.texts[index]?.length ?? 0));
    }
    return draft.items;
  }

  #all(): ModelQueue[] {
    return [...this.#accounts.values()].flatMap(({ queues }) => [...queues.values()]);
  }

  #serve(account: AccountQueues, queue: ModelQueue, work: number): void {
    this.#fairQueue.serve(account, work);
    account.fairQueue.serve(queue, work);
  }

  /** The queue of an account and model, which takes turns from now on. */
  #joined(id: string, directory: string): ModelQueue {
    if (this.#queueCount >= MAX_REMEMBERED_QUEUES) this.#forgetIdle();
    const account = this.#accounts.get(id) ?? {
      served: 0,
      queues: new Map<string, ModelQueue>(),
      fairQueue: new FairQueue(),
      waiting: NOTHING,
    };
    this.#accounts.set(id, account);
    if ([...account.queues.values()].every(({ isEmpty }) => isEmpty)) this.#fairQueue.join(account);
    const known = account.queues.get(directory);
    const queue = known ?? new ModelQueue(id, directory);
    if (known === undefined) {
      account.queues.set(directory, queue);
      this.#queueCount += 1;
    }
    if (queue.isEmpty) account.fairQueue.join(queue);
    return queue;
  }

  #forgetIdle(): void {
    for (const [id, account] of this.#accounts) {
      for (const [directory, queue] of account.queues) {
        if (!queue.isEmpty || !account.fairQueue.canForget(queue)) continue;
        account.queues.delete(directory);
        this.#queueCount -= 1;
      }
      if (account.queues.size === 0 && this.#fairQueue.canForget(account)) this.#accounts.delete(id);
    }
  }

  #count({ account, texts, next }: PendingRequest, sign: 1 | -1): void {
    const characters = texts.slice(next).reduce((sum, { length }) => sum + length, 0);
    this.#add(account, sign * (texts.length - next), sign * characters);
  }

  #add(id: string, texts: number, characters: number): void {
    const more = (waiting: Waiting) => ({
      texts: waiting.texts + texts,
      characters: waiting.characters + characters,
    });
    this.#waiting = more(this.#waiting);
    const account = this.#accounts.get(id);
    if (account !== undefined) account.waiting = more(account.waiting);
  }
}
