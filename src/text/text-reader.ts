import { ModelFolderError, ValidationError } from '../contract/index.js';
import { runToEnd, type Steps } from '../system/index.js';
import { encodingWindows, markCapitals } from './encoding.js';
import type { EncodeOptions, Encoding, SpecialTokenIds, Tokenizer } from './tokenizer.js';

export interface TextWindow {
  readonly row: number;
  readonly encoding: Encoding;
}

/** The fields have the names of the `orchard` section of a model folder's config.json. */
export interface ReadingFields {
  /** The size of a window, special tokens included. */
  readonly max_tokens: number;
  /** Tokens that neighbouring windows share. Absent: long texts are truncated at `max_tokens`. */
  readonly window_overlap?: number;
  /** `capitals`: token type 1 marks each token with a capital letter. Absent: all token types are 0. */
  readonly token_types?: 'capitals';
  /** `none`: an output for every token; long texts are read in windows by default. */
  readonly pooling?: 'first' | 'mean' | 'none';
  /** Present: texts come from {@link joinParts}, as pairs for the tokenizer's template, or as prompts and texts. */
  readonly parts?: 'pair' | 'prompt';
}

/** Unit separator, which begins joined texts, so that a single text is not taken for two. */
const JOINED = '\u001f';
const JOINED_LENGTH = new RegExp(`^${JOINED}(\\d+) `);

/** Two texts as one, for models that read them apart. */
export function joinParts(first: string, second: string): string {
  return `${JOINED}${first.length} ${first}${second}`;
}

/** The reverse of {@link joinParts}. @throws ValidationError for a single text */
export function partsOf(text: string): readonly [first: string, second: string] {
  const [before, length] = JOINED_LENGTH.exec(text) ?? [];
  if (before === undefined) {
    const msg =
      'the model reads pairs of texts, but this is a single text; open it with loadModel and give predict { text, text2 }';
    throw new ValidationError([{ loc: ['query'], msg, type: 'single_text' }]);
  }
  const end = before.length + Number(length);
  return [text.slice(before.length, end), text.slice(end)];
}

/** The texts that joined ones consist of, or single ones as they are. */
export function singleTexts(texts: readonly string[], parts: ReadingFields['parts']): readonly string[] {
  return parts === 'pair' ? texts.flatMap(partsOf) : texts;
}

/** Short windows share a quarter. */
const WINDOW_OVERLAP = 64;

export function defaultWindowOverlap(maxTokens: number): number {
  return Math.min(WINDOW_OVERLAP, Math.floor(maxTokens / 4));
}

/** Reads texts in the same way for training, evaluation and inference. */
export class TextReader {
  readonly maxTokens: number;
  readonly #tokenizer: Tokenizer;
  readonly #overlap: number | undefined;
  readonly #marksCapitals: boolean;
  readonly #parts: ReadingFields['parts'];

  /** @throws ModelFolderError if the model labels words and the tokenizer has no offsets */
  constructor(tokenizer: Tokenizer, { max_tokens, window_overlap, token_types, pooling, parts }: ReadingFields) {
    if (pooling === 'none') requireOffsets(tokenizer);
    this.maxTokens = max_tokens;
    this.#tokenizer = tokenizer;
    this.#overlap = window_overlap ?? (pooling === 'none' ? defaultWindowOverlap(max_tokens) : undefined);
    this.#marksCapitals = token_types === 'capitals';
    this.#parts = parts;
  }

  get specialTokens(): SpecialTokenIds {
    return this.#tokenizer.specialTokens;
  }

  /** Text by text; a long text has several windows. */
  read(texts: readonly string[]): TextWindow[] {
    return runToEnd(this.reading(texts));
  }

  *reading(texts: readonly string[]): Steps<TextWindow[]> {
    const windows: TextWindow[] = [];
    for (const [row, text] of texts.entries()) {
      yield;
      for (const window of this.windowsOf(text, row)) windows.push(window);
    }
    return windows;
  }

  windowsOf(text: string, row: number): TextWindow[] {
    const windows: TextWindow[] = [];
    for (const encoding of this.#windows(text)) windows.push({ row, encoding });
    return windows;
  }

  #windows(text: string): Encoding[] {
    if (this.#overlap === undefined) return [this.#encode(text, { maxLength: this.maxTokens })];
    return encodingWindows(this.#encode(text), this.maxTokens, this.#overlap);
  }

  #encode(text: string, options?: EncodeOptions): Encoding {
    if (this.#parts !== undefined) {
      const [first, second] = partsOf(text);
      if (this.#parts === 'pair') return this.#tokenizer.encode(first, { ...options, pair: second });
      const encoding = this.#tokenizer.encode(first + second, options);
      return { ...encoding, promptTokens: this.#promptTokens(first) };
    }
    const encoding = this.#tokenizer.encode(text, options);
    return this.#marksCapitals ? markCapitals(text, encoding) : encoding;
  }

  /** Without the special token at the end, as sentence-transformers counts. */
  #promptTokens(prompt: string): number {
    if (prompt === '') return 0;
    const { ids, sequenceIds } = this.#tokenizer.encode(prompt, { maxLength: this.maxTokens });
    return ids.length - (sequenceIds.at(-1) === -1 ? 1 : 0);
  }
}

function requireOffsets({ withoutOffsets }: Tokenizer): void {
  if (withoutOffsets === undefined) return;
  const reason = `entities need the position of every token in the text, which is unknown with ${withoutOffsets}`;
  const advice = 'choose a backbone with another tokenizer; this one can only classify texts';
  throw new ModelFolderError('tokenizer.json', `${reason}: ${advice}`);
}

export type TextOutputs = readonly WindowOutputs[];

export interface WindowOutputs {
  readonly encoding: Encoding;
  /** [outputs], or [tokens, outputs]. */
  readonly outputs: Float32Array;
}

/** @param texts number of texts. */
export function outputsByText(
  texts: number,
  windows: readonly TextWindow[],
  outputsOf: (window: TextWindow) => Float32Array,
): TextOutputs[] {
  const byText = Array.from({ length: texts }, (): WindowOutputs[] => []);
  for (const window of windows) {
    byText[window.row]?.push({ encoding: window.encoding, outputs: outputsOf(window) });
  }
  return byText;
}
