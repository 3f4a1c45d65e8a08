/** A part of a tokenizer.json that we don't compute as the Rust package does. */
export class UnknownPartError extends Error {
  override readonly name = 'UnknownPartError';
  constructor(
    /** For people, as in "… can't be followed": `the normalizer "Foo"`. */
    readonly part: string,
  ) {
    super(`unknown: ${part}`);
  }
}
