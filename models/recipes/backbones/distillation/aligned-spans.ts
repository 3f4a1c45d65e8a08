import type { Encoding } from '../../../../src/text/index.js';

/** Neighbouring tokens of one encoding: from `start` up to, but not including, `end`. */
export interface TokenRange {
  readonly start: number;
  readonly end: number;
}

/** The same characters of a text as two tokenizers read them. */
export interface AlignedSpan {
  readonly first: TokenRange;
  readonly second: TokenRange;
}

/**
 * The smallest runs of tokens that cover the same characters in two encodings of one text. A word that both
 * tokenizers split alike gives one span per piece; a word that they split differently is one span. Characters
 * that only one of them reads (such as control characters, or a truncated end) are in no span, nor are
 * special tokens.
 */
export function alignedSpans(first: Encoding, second: Encoding): AlignedSpan[] {
  const spans: AlignedSpan[] = [];
  const a = new TokenCursor(first);
  const b = new TokenCursor(second);
  while (a.there && b.there) {
    if (a.from < b.from) a.skip();
    else if (b.from < a.from) b.skip();
    else {
      while (a.to !== b.to && (a.to < b.to ? a.grow() : b.grow())) {}
      if (a.to === b.to) spans.push({ first: a.range, second: b.range });
      a.skip();
      b.skip();
    }
  }
  return spans;
}

/** A run of tokens that moves through an encoding. */
class TokenCursor {
  readonly #starts: readonly number[];
  readonly #ends: readonly number[];
  readonly #tokens: readonly number[];
  #first = 0;
  #last = 0;

  constructor({ sequenceIds, offsets }: Encoding) {
    this.#tokens = [...sequenceIds.keys()].filter((token) => sequenceIds[token] === 0);
    this.#starts = this.#tokens.map((token) => offsets?.[2 * token] ?? 0);
    this.#ends = this.#tokens.map((token) => offsets?.[2 * token + 1] ?? 0);
    this.#takeSharers();
  }

  /** Whether there is a token left. */
  get there(): boolean {
    return this.#last < this.#tokens.length;
  }

  /** Where the run begins and ends in the text. */
  get from(): number {
    return this.#starts[this.#first] ?? Number.POSITIVE_INFINITY;
  }

  get to(): number {
    return this.#ends[this.#last] ?? Number.POSITIVE_INFINITY;
  }

  get range(): TokenRange {
    return { start: this.#tokens[this.#first] ?? 0, end: (this.#tokens[this.#last] ?? 0) + 1 };
  }

  /** Adds the next token to the run. @returns whether there was one. */
  grow(): boolean {
    if (this.#last + 1 >= this.#tokens.length) return false;
    this.#last += 1;
    this.#takeSharers();
    return true;
  }

  /** Starts a new run at the next token. */
  skip(): void {
    this.#last += 1;
    this.#first = this.#last;
    this.#takeSharers();
  }

  /** Keeps pieces together that share the span of one character, which decomposes into several. */
  #takeSharers(): void {
    while ((this.#starts[this.#last + 1] ?? Number.POSITIVE_INFINITY) < this.to) this.#last += 1;
  }
}
