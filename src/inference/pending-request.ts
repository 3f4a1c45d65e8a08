import { type ExplanationChoice, MAX_LEFT_OUT, type ModelResult } from '../families/index.js';
import type { Predictions } from './inference-service.js';
import type { RequestTrace } from './tracing.js';
import type { BatchAnswer, StageTimes } from './worker.js';

/** Fixed work of a text, in characters: its special tokens and its share of starting a run. */
const TEXT_COST = 20;
/**
 * Attention's share: its work grows with the square of the length, and in a mini is a sixth of the work of a text of
 * a thousand characters.
 */
const SQUARE_COST = 1.5e-4;
/** Longer texts are truncated, or read in windows, so that work grows no faster than length. */
const SQUARE_LIMIT = 2000;

/** How much work a text is before anybody has tokenized it, in units of a character of a short text. */
function textWork(text: string): number {
  const { length } = text;
  return TEXT_COST + length + SQUARE_COST * length * Math.min(length, SQUARE_LIMIT);
}

/** Characters of a word and the space before it, roughly. */
const WORD = 6;

/** A request that has not been answered: its texts are given to workers in their order, in one batch or several. */
export class PendingRequest {
  readonly enqueuedAt = performance.now();
  /** The first text that no worker has been given. */
  next = 0;
  /** Whether it must not share a batch, since the batch that it was in has failed. */
  solo = false;
  /** When its first text was given to a worker, by `performance.now`. */
  startedAt: number | undefined;
  /** What tracing tools were told of it, if any listens. */
  trace: RequestTrace | undefined;
  /** What its answers are to be explained by; undefined if they are not. */
  explain: ExplanationChoice | undefined;
  /** Whether results tell it. */
  noneOfThese = false;
  readonly #results: (ModelResult | undefined)[];
  readonly #truncated: number[] = [];
  readonly #whenEnded: (() => void)[] = [];
  #ended = false;
  #unanswered: number;
  #elapsedMs = 0;
  /** Time that batches of one dispatch took, the longest of them; they run side by side. */
  #round = { id: -1, elapsedMs: 0 };

  constructor(
    readonly directory: string,
    readonly texts: readonly string[],
    readonly resolve: (predictions: Predictions) => void,
    readonly reject: (thrown: unknown) => void,
    /** On whose behalf it is asked. */
    readonly account = '',
  ) {
    this.#results = new Array(texts.length);
    this.#unanswered = texts.length;
  }

  /** Texts that no worker has been given. */
  get waiting(): number {
    return this.texts.length - this.next;
  }

  /** The work that a text is, as {@link textWork} counts it: one that is explained is read again without each word. */
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

  /** Puts the texts from a position on back, to be run without those of other requests. */
  retryAlone(from: number): void {
    this.solo = true;
    this.next = Math.min(this.next, from);
  }

  /** @param at its position in the answer. */
  take(index: number, answer: BatchAnswer, at: number): void {
    const result = answer.results[at];
    if (result === undefined || this.#results[index] !== undefined) return;
    this.#results[index] = result;
    this.#unanswered -= 1;
    if (answer.truncated.includes(at)) this.#truncated.push(index);
  }

  /** Adds the time of a batch. @param round batches of one round run side by side. */
  addTime(round: number, times: StageTimes): void {
    const elapsedMs = times.tokenize + times.run + times.decode;
    if (round !== this.#round.id) this.#round = { id: round, elapsedMs: 0 };
    const more = Math.max(0, elapsedMs - this.#round.elapsedMs);
    this.#round.elapsedMs += more;
    this.#elapsedMs += more;
  }

  /** The answer, once every text has one. */
  get predictions(): Predictions | undefined {
    if (this.#unanswered > 0) return undefined;
    return {
      results: this.#results.flatMap((result) => (result === undefined ? [] : this.#told(result))),
      elapsedMs: this.#elapsedMs,
      truncated: this.#truncated.sort((a, b) => a - b),
    };
  }

  /** Whether it asks for what its model has no threshold for. */
  get lacksThreshold(): boolean {
    return this.noneOfThese && this.#results.some((result) => result?.none_of_these === undefined);
  }

  /** A result with the fields that were asked for. */
  #told(result: ModelResult): ModelResult {
    if (this.noneOfThese) return result;
    const { none_of_these: _, ...documented } = result;
    return documented;
  }
}
