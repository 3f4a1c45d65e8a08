import { type ExplanationChoice, MAX_LEFT_OUT, type ModelResult } from '../families/index.js';
import type { Predictions } from './inference-service.js';
import type { RequestTrace } from './tracing.js';
import type { BatchAnswer, StageTimes } from './worker.js';

/** Fixed work of a text, in characters: special tokens and a share of starting a run. */
const TEXT_COST = 20;
/**
 * Attention grows with the square of the length. In a mini, it is a sixth of the work of a text of a thousand characters.
 */
const SQUARE_COST = 1.5e-4;
/** Longer texts are truncated or read in windows, so that their work grows linearly. */
const SQUARE_LIMIT = 2000;

/** Estimated work of a text, in characters of a short text. */
function textWork(text: string): number {
  const { length } = text;
  return TEXT_COST + length + SQUARE_COST * length * Math.min(length, SQUARE_LIMIT);
}

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
  explain: ExplanationChoice | undefined;
  noneOfThese = false;
  readonly #results: (ModelResult | undefined)[];
  readonly #truncated: number[] = [];
  readonly #whenEnded: (() => void)[] = [];
  #ended = false;
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

  /** An explained text is read again without each of its words. */
  workOf(index: number): number {
    const text = this.texts[index] ?? '';
    const readings = this.explain === undefined ? 1 : 1 + Math.min(MAX_LEFT_OUT, text.length / WORD);
    return readings * textWork(text);
  }

  /** Whether it has been answered, refused or given up. */
  get ended(): boolean {
    return this.#ended;
  }

  onEnd(ending: () => void): void {
    this.#whenEnded.push(ending);
  }

  end(): void {
    this.#ended = true;
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
    return {
      results: this.#results.flatMap((result) => (result === undefined ? [] : this.#requested(result))),
      elapsedMs: this.#elapsedMs,
      truncated: this.#truncated.sort((a, b) => a - b),
    };
  }

  get lacksThreshold(): boolean {
    return this.noneOfThese && this.#results.some((result) => result?.none_of_these === undefined);
  }

  #requested(result: ModelResult): ModelResult {
    if (this.noneOfThese) return result;
    const { none_of_these: _, ...documented } = result;
    return documented;
  }
}
