/** The interface between text and token ids, implemented by WordPieceTokenizer, PipelineTokenizer and JsonTokenizer. */

/**
 * One text, or a pair of texts, as the model reads it. Arrays have one entry per token unless stated
 * otherwise. They may be views of a buffer that other encodings share: read or copy them, but never write to
 * them or transfer their buffer.
 */
export interface Encoding {
  /** Vocabulary ids, including those of the added special tokens. */
  readonly ids: Int32Array;
  /** Token types (segment ids): 0 and, for the second text of a pair, 1. */
  readonly typeIds: Int32Array;
  /** Which text a token comes from: 0 the first, 1 the second of a pair, -1 none (added by the tokenizer). */
  readonly sequenceIds: Int32Array;
  /**
   * Two entries per token: start and end (exclusive) in UTF-16 code units of the text that `sequenceIds`
   * names, so `text.slice(start, end)` is what the token was read from. Added tokens have 0, 0. Offsets never
   * decrease within a text; pieces of one character that decomposes into several (Hangul, byte-level pieces)
   * share its span. The span of a piece can begin with the white space before its word, where its tokenizer says so.
   * Null if they are unknown: {@link Tokenizer.withoutOffsets}.
   */
  readonly offsets: Int32Array | null;
  /** How many pieces `maxLength` cut off, of both texts together. */
  readonly truncated: number;
}

export interface EncodeOptions {
  /**
   * The most tokens that the encoding may have, including added special tokens, which are always kept. Of a
   * pair, the longer text is cut first, at its end. Default: no limit.
   */
  readonly maxLength?: number;
  /** A second text, read after the first. */
  readonly pair?: string;
}

/** Ids of the five tokens that have a meaning of their own in BERT. */
export interface SpecialTokenIds {
  readonly pad: number;
  readonly unknown: number;
  readonly classifier: number;
  readonly separator: number;
  readonly mask: number;
}

/** Turns text into token ids. Synchronous; not to be shared between threads. */
export interface Tokenizer {
  /** The highest id plus one: how many rows a table of token embeddings needs. */
  readonly vocabularySize: number;
  readonly specialTokens: SpecialTokenIds;
  /** The part of its file for which the places of pieces aren't known; absent if all encodings have offsets. */
  readonly withoutOffsets?: string;
  /** @throws RangeError if `maxLength` has no room for the special tokens, which are always added. */
  encode(text: string, options?: EncodeOptions): Encoding;
  /** The vocabulary's entry for an id, with `##` and the like; undefined if there is none. */
  token(id: number): string | undefined;
}
