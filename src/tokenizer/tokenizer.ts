/** The seam between text and token ids. Two implementations: WordPieceTokenizer and JsonTokenizer. */

/**
 * One text, or a pair of texts, as the model reads it. Arrays have one entry a token unless said. They may be views
 * of a buffer that other encodings share: read or copy them, never write to them nor transfer their buffer.
 */
export interface Encoding {
  /** Vocabulary ids, those of the added special tokens included. */
  readonly ids: Int32Array;
  /** Token types (segment ids): 0 and, for the second text of a pair, 1. */
  readonly typeIds: Int32Array;
  /** Which text a token comes from: 0 the first, 1 the second of a pair, -1 none (added by the tokenizer). */
  readonly sequenceIds: Int32Array;
  /**
   * Two entries a token: start and end (exclusive) in UTF-16 code units of the text that `sequenceIds` names, so
   * `text.slice(start, end)` is what the token stands for. Added tokens have 0, 0. Offsets never decrease within a
   * text; pieces of one character that decomposes into several (Hangul, byte-level pieces) share its span. Null
   * where the tokenizer can't tell: never from a BERT-style tokenizer.json, see JsonTokenizer for the others.
   */
  readonly offsets: Int32Array | null;
  /** How many pieces `maxLength` cut off, of both texts together. */
  readonly truncated: number;
}

export interface EncodeOptions {
  /**
   * The most tokens the encoding may have, added special tokens included; they are always kept. A pair loses from
   * the end of its longer text first. Default: no limit.
   */
  readonly maxLength?: number;
  /** A second text, read after the first. */
  readonly pair?: string;
}

/** Ids of the five tokens that BERT gives a meaning. */
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
  /** @throws RangeError where `maxLength` has no room for the special tokens that are always added. */
  encode(text: string, options?: EncodeOptions): Encoding;
  /** The vocabulary's entry of an id, `##` and the like included; undefined where the id has none. */
  token(id: number): string | undefined;
}
