import { clearTimeout, setTimeout } from 'node:timers';
import { setTimeout as pause } from 'node:timers/promises';
import type { ModelType } from '../contract/index.js';
import { familyOfType, type JudgedResult } from '../families/index.js';
import {
  addCounts,
  type NamedModel,
  noCounts,
  type PointedModel,
  type ReadyModels,
  ShadowCountRecords,
  type ShadowCounts,
} from '../jobs/index.js';
import type { Storage } from '../storage/index.js';
import { charactersOf } from './batch-scheduler.js';
import type { InferenceService } from './inference-service.js';
import { createService, serviceSchema } from './service.js';

/** Most queries that wait for shadows, and most characters of them. Further ones are dropped. */
const MAX_WAITING = 100;
const MAX_WAITING_CHARACTERS = 2 ** 20;
/** After this, a shadow has not answered. */
const DEADLINE_MS = 10_000;
/** Without queries for this long, the thread of the shadows ends and frees its models. */
const IDLE_MS = 60_000;
/** How long closing waits for shadows that are still to be asked. */
const CLOSE_MS = 2000;
/** Counts are written this long after the first of them. */
const WRITE_AFTER_MS = 1000;

type Work = (service: InferenceService | undefined) => Promise<void>;

/**
 * One worker thread that asks shadows, for all predictors of an inference service: answers never wait for it. It works only
 * while no query waits for a thread of that service, and forgets the texts when it has asked.
 */
class ShadowThread {
  static readonly #threads = new WeakMap<InferenceService, ShadowThread>();

  /** @param answering runs the models that answer. Call `release` when done. */
  static of(answering: InferenceService): ShadowThread {
    const thread = ShadowThread.#threads.get(answering) ?? new ShadowThread(answering);
    ShadowThread.#threads.set(answering, thread);
    thread.#users += 1;
    return thread;
  }

  readonly #answering: InferenceService;
  readonly #waiting: { readonly texts: readonly string[]; readonly work: Work }[] = [];
  #service: InferenceService | undefined;
  #users = 0;
  #isWorking = false;

  private constructor(answering: InferenceService) {
    this.#answering = answering;
  }

  /**
   * @param work called with no service if the texts are dropped; it must never reject.
   * @returns when the work is done
   */
  offer(texts: readonly string[], work: Work): Promise<void> {
    const waiting = this.#waiting.flatMap((each) => each.texts);
    const isFull =
      waiting.length > 0 &&
      (waiting.length + texts.length > MAX_WAITING ||
        charactersOf(waiting) + charactersOf(texts) > MAX_WAITING_CHARACTERS);
    if (isFull) return work(undefined);
    return new Promise((resolve) => {
      this.#waiting.push({ texts, work: (service) => work(service).finally(resolve) });
      if (!this.#isWorking) void this.#work();
    });
  }

  async release(): Promise<void> {
    this.#users -= 1;
    if (this.#users > 0) return;
    ShadowThread.#threads.delete(this.#answering);
    this.#waiting.length = 0;
    await this.#service?.close();
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const isBusy = this.#answering.stats().waitingTexts > 0;
      await next.work(isBusy ? undefined : this.#asking());
    }
    this.#isWorking = false;
  }

  #asking(): InferenceService {
    const isWasm = this.#answering.stats().models.some(({ runtime }) => runtime === 'wasm');
    const own = { isolation: 'worker', workers: 1, threads: 1, idleMs: IDLE_MS, runtime: isWasm ? 'wasm' : 'auto' };
    this.#service ??= createService(serviceSchema.parse(own), false);
    return this.#service;
  }
}

/** Asks the shadows of an account's names what was answered already, and counts how the answers compare. */
export class Shadows {
  readonly #answering: InferenceService;
  readonly #ready: ReadyModels;
  readonly #records: ShadowCountRecords;
  readonly #app_id: string;
  /** Not written yet, by name. */
  readonly #counts = new Map<string, ShadowCounts>();
  readonly #asking = new Set<Promise<void>>();
  #thread: ShadowThread | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #closing: Promise<void> | undefined;

  constructor(answering: InferenceService, ready: ReadyModels, storage: Storage, app_id: string) {
    this.#answering = answering;
    this.#ready = ready;
    this.#records = new ShadowCountRecords(storage, app_id);
    this.#app_id = app_id;
  }

  /** Returns at once, and never throws. @param answers to the queries, in their order */
  compare(
    name: string,
    { model, shadow }: PointedModel,
    queries: readonly string[],
    answers: readonly JudgedResult[],
  ): void {
    if (shadow === undefined || this.#isClosed) return;
    this.#thread ??= ShadowThread.of(this.#answering);
    const asking = this.#thread.offer(queries, async (service) => {
      const none = noCounts(shadow.run);
      if (service === undefined) return this.#count(name, { ...none, dropped: queries.length });
      try {
        const directory = await this.#ready.directoryOf(shadow.model.id);
        const request = { account: this.#app_id, deadlineMs: DEADLINE_MS };
        const { results } = await service.predict(directory, queries, request);
        const compared = answers.map((answer, at) => comparison(answer, results[at], model, shadow.model, none));
        this.#count(name, compared.reduce(addCounts, none));
      } catch {
        this.#count(name, { ...none, errors: queries.length });
      }
    });
    this.#asking.add(asking);
    void asking.finally(() => this.#asking.delete(asking));
  }

  /** Waits for shadows that are still to be asked, 2 s at most, and writes the counts. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const done = new AbortController();
    const late = pause(CLOSE_MS, undefined, { signal: done.signal }).catch(() => undefined);
    await Promise.race([Promise.all(this.#asking), late]);
    done.abort();
    this.#isClosed = true;
    await Promise.all([this.#thread?.release(), this.#write()]);
  }

  #count(name: string, counts: ShadowCounts): void {
    if (this.#isClosed) return;
    const known = this.#counts.get(name);
    this.#counts.set(name, known?.run === counts.run ? addCounts(known, counts) : counts);
    this.#timer ??= setTimeout(() => void this.#write(), WRITE_AFTER_MS).unref();
  }

  /** Counts that can't be written are lost without an error: queries must not fail for them. */
  async #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const counts = [...this.#counts];
    this.#counts.clear();
    await Promise.all(counts.map(([name, each]) => this.#records.add(name, each).catch(() => undefined)));
  }
}

/** The counts of one query. */
function comparison(
  answered: JudgedResult,
  shadow: JudgedResult | undefined,
  model: NamedModel,
  shadowModel: NamedModel,
  none: ShadowCounts,
): ShadowCounts {
  if (shadow === undefined) return { ...none, errors: 1 };
  const [ours, theirs] = [contentOf(answered, model.type), contentOf(shadow, shadowModel.type)];
  const agrees = ours.length === theirs.length && ours.every((each, at) => each === theirs[at]);
  const [score, shadowScore] = [highest(answered.scores), highest(shadow.scores)];
  const hasScores = score !== undefined && shadowScore !== undefined;
  const [label, shadowLabel] = [answered.labels[0], shadow.labels[0]];
  const hasLabels =
    familyOfType(model.type).answerView === 'labels' && label !== undefined && shadowLabel !== undefined;
  return {
    ...none,
    ...(agrees ? { agreed: 1 } : { disagreed: 1 }),
    ...(hasScores && { scored: 1, scoreDifference: shadowScore - score }),
    ...(hasLabels && { pairs: [[label, shadowLabel, 1]] }),
  };
}

/** What has to be the same in two answers that agree. */
function contentOf({ labels, scores, tokens, token_start_positions }: JudgedResult, type: ModelType): string[] {
  if (tokens !== undefined) {
    return labels.map((label, at) => JSON.stringify([label, token_start_positions?.[at], tokens[at]?.length])).sort();
  }
  if (type !== 'multilabel-text-classification') return labels.slice(0, 1);
  return labels.filter((_, at) => (scores[at] ?? 0) > 0.5).sort();
}

function highest(scores: readonly number[]): number | undefined {
  return scores.length === 0 ? undefined : Math.max(...scores);
}
