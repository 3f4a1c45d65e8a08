import { ok, type Result } from 'neverthrow';
import type { ModelFolderError } from '../errors.js';
import type { LongTexts, TextWindow } from '../families/index.js';
import {
  type BertTokenizerJson,
  encodingWindows,
  englishTokenizer,
  loadTokenizer,
  type Tokenizer,
  trainWordPiece,
} from '../tokenizer/index.js';
import { type Hyperparameters, MAX_TOKENS, MAX_VOCABULARY, WINDOW_OVERLAP } from './hyperparameters.js';

/** Rows of a task as token ids, and what made them. */
export interface TokenizedRows {
  readonly tokenizerJson: BertTokenizerJson;
  readonly vocabularySize: number;
  readonly maskId: number;
  readonly train: readonly TextWindow[];
  readonly dev: readonly TextWindow[];
}

/** Encodes every row, with the English vocabulary that comes along or with one learned from the training texts. */
export function tokenize(
  { train, dev }: { readonly train: readonly string[]; readonly dev: readonly string[] },
  longTexts: LongTexts,
  { lowercase, language }: Hyperparameters,
): Result<TokenizedRows, ModelFolderError> {
  return chooseTokenizer(train, lowercase, language).map(({ json, tokenizer }) => ({
    tokenizerJson: json,
    vocabularySize: tokenizer.vocabularySize,
    maskId: tokenizer.specialTokens.mask,
    train: train.flatMap((text, row) => textWindows(tokenizer, text, row, longTexts)),
    dev: dev.flatMap((text, row) => textWindows(tokenizer, text, row, longTexts)),
  }));
}

function textWindows(tokenizer: Tokenizer, text: string, row: number, longTexts: LongTexts): TextWindow[] {
  if (longTexts === 'truncate') return [{ row, encoding: tokenizer.encode(text, { maxLength: MAX_TOKENS }) }];
  const windows = encodingWindows(tokenizer.encode(text), MAX_TOKENS, WINDOW_OVERLAP);
  return windows.map((encoding) => ({ row, encoding }));
}

interface LoadedTokenizer {
  readonly json: BertTokenizerJson;
  readonly tokenizer: Tokenizer;
}

function load(json: BertTokenizerJson): Result<LoadedTokenizer, ModelFolderError> {
  return loadTokenizer(json).map((tokenizer) => ({ json, tokenizer }));
}

/** A vocabulary of general English knows words that a small dataset lacks (docs/training.md has what that brings). */
function chooseTokenizer(
  texts: readonly string[],
  lowercase: boolean,
  language: string,
): Result<LoadedTokenizer, ModelFolderError> {
  const learn = () => load(trainWordPiece(texts, { vocabularySize: MAX_VOCABULARY, lowercase, language }));
  if (!lowercase || language.toLowerCase() !== 'english') return learn();
  return load(englishTokenizer()).andThen((english) =>
    readsWell(english.tokenizer, texts) ? ok(english) : learn(),
  );
}

/** Texts that are looked at to see whether a vocabulary fits. */
const TEXTS_TO_LOOK_AT = 1000;
/** English has about 1.3 pieces a word, punctuation counted; texts in another language several. */
const MAX_PIECES_A_WORD = 2;

function readsWell(tokenizer: Tokenizer, texts: readonly string[]): boolean {
  let words = 0;
  let pieces = 0;
  for (const text of texts.slice(0, TEXTS_TO_LOOK_AT)) {
    words += text.split(/\s+/u).length;
    pieces += tokenizer.encode(text).sequenceIds.filter((id) => id === 0).length;
  }
  return pieces <= MAX_PIECES_A_WORD * words;
}
