/** Arrays have an entry per token and may share a buffer: never write to them or transfer their buffer. */
export interface Encoding {
  readonly ids: Int32Array;
  /** Segment ids: 0 and, for the second text of a pair, 1. */
  readonly typeIds: Int32Array;
  /** 0 or 1 for the first or second text, -1 for tokens that the tokenizer adds. */
  readonly sequenceIds: Int32Array;
  /**
   * Two entries per token: start and end (exclusive) in UTF-16 code units of the text that `sequenceIds`
   * names, so `text.slice(start, end)` is what the token was read from. Added tokens have 0, 0. Offsets never
   * decrease within a text; pieces of one character that decomposes into several (Hangul, byte-level pieces)
   * share its span. The span of a piece can begin with the white space before its word, where its tokenizer says so.
   * Null if they are unknown: {@link Tokenizer.withoutOffsets}.
   */
  readonly offsets: Int32Array | null;
  /** Pieces that `maxLength` cut off, of both texts. */
  readonly truncated: number;
  /** Tokens of the prompt and those before it, where texts are read with a prompt apart: {@link joinParts}. */
  readonly promptTokens?: number;
}

export interface EncodeOptions {
  /** In tokens, added ones included, which always stay. The longer text of a pair is cut first. Default: no limit. */
  readonly maxLength?: number;
  readonly pair?: string;
}

export interface SpecialTokenIds {
  readonly pad: number;
  readonly unknown: number;
  readonly classifier: number;
  readonly separator: number;
  readonly mask: number;
}

/** Synchronous; not to be shared between threads. */
export interface Tokenizer {
  /** The highest id plus one. */
  readonly vocabularySize: number;
  readonly specialTokens: SpecialTokenIds;
  /** The part of its file for which the places of pieces aren't known; absent if all encodings have offsets. */
  readonly withoutOffsets?: string;
  /** @throws RangeError if `maxLength` has no room for the special tokens. */
  encode(text: string, options?: EncodeOptions): Encoding;
  /** The vocabulary's entry, with `##` and the like. */
  token(id: number): string | undefined;
}
