import { ModelFolderError } from '../errors.js';
import { allAtOnce, type Steps } from '../pauses.js';
import {
  type EncodeOptions,
  type Encoding,
  encodingWindows,
  markCapitals,
  type SpecialTokenIds,
  type Tokenizer,
} from '../tokenizer/index.js';

/** A text, or a window of one, as an encoder reads it. */
export interface TextWindow {
  /** Index of the text. */
  readonly row: number;
  readonly encoding: Encoding;
}

/** Settings of how texts are read, named as in the `orchard` section of a model folder's config.json. */
export interface ReadingFields {
  /** Most tokens of a window, special tokens included. */
  readonly max_tokens: number;
  /**
   * Word pieces that neighbouring windows of a longer text share. Absent: a longer text is truncated at
   * `max_tokens`.
   */
  readonly window_overlap?: number;
  /**
   * `capitals`: token type 1 marks each word piece that contains a capital. Absent: all token types are 0.
   */
  readonly token_types?: 'capitals';
  /**
   * `none`: the model answers for every token. Folders of such models were read in windows even before
   * `window_overlap` existed.
   */
  readonly pooling?: 'first' | 'mean' | 'none';
}

/** Default overlap of neighbouring windows in word pieces; short windows overlap by a quarter. */
const WINDOW_OVERLAP = 64;

export function defaultWindowOverlap(maxTokens: number): number {
  return Math.min(WINDOW_OVERLAP, Math.floor(maxTokens / 4));
}

/**
 * Turns texts into the encodings that an encoder reads, in the same way for training, evaluation and
 * inference.
 */
export class TextReader {
  readonly maxTokens: number;
  readonly #tokenizer: Tokenizer;
  readonly #overlap: number | undefined;
  readonly #marksCapitals: boolean;

  /** @throws ModelFolderError if the model answers for words and the tokenizer can't tell which pieces are theirs. */
  constructor(tokenizer: Tokenizer, { max_tokens, window_overlap, token_types, pooling }: ReadingFields) {
    if (pooling === 'none') requireOffsets(tokenizer);
    this.maxTokens = max_tokens;
    this.#tokenizer = tokenizer;
    this.#overlap = window_overlap ?? (pooling === 'none' ? defaultWindowOverlap(max_tokens) : undefined);
    this.#marksCapitals = token_types === 'capitals';
  }

  get specialTokens(): SpecialTokenIds {
    return this.#tokenizer.specialTokens;
  }

  /** The windows of each text, text by text; there is one unless the text is long and read in several. */
  read(texts: readonly string[]): TextWindow[] {
    return allAtOnce(this.reading(texts));
  }

  /** As {@link TextReader.read}, step by step. */
  *reading(texts: readonly string[]): Steps<TextWindow[]> {
    const windows: TextWindow[] = [];
    for (const [row, text] of texts.entries()) {
      yield;
      for (const window of this.windowsOf(text, row)) windows.push(window);
    }
    return windows;
  }

  /** The windows of one text. @param row its index. */
  windowsOf(text: string, row: number): TextWindow[] {
    return this.#windows(text).map((encoding) => ({ row, encoding }));
  }

  #windows(text: string): Encoding[] {
    if (this.#overlap === undefined) return [this.#encode(text, { maxLength: this.maxTokens })];
    return encodingWindows(this.#encode(text), this.maxTokens, this.#overlap);
  }

  #encode(text: string, options?: EncodeOptions): Encoding {
    const encoding = this.#tokenizer.encode(text, options);
    return this.#marksCapitals ? markCapitals(text, encoding) : encoding;
  }
}

function requireOffsets({ withoutOffsets }: Tokenizer): void {
  if (withoutOffsets === undefined) return;
  const reason = `entities need the place of every piece in the text, which isn't known with ${withoutOffsets}`;
  const advice = 'choose a backbone with another tokenizer; texts can be classified with this one';
  throw new ModelFolderError('tokenizer.json', `${reason}: ${advice}`);
}
