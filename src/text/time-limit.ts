/** Limits on the time of patterns. They are set in load-tokenizer.ts, by a module that only Node has. */

/** A pattern may try every way to match; ordinary ones take 3 µs a character. */
export const maxTextMs = (text: string): number => 2_000 + Math.ceil(text.length / 20);

export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError';
  constructor(readonly limitMs: number) {
    super(`it took longer than ${limitMs} ms`);
  }
}
