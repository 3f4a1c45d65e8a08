import { ok, type Result } from 'neverthrow';
import type { ModelFolderError } from '../errors.js';
import type { LongTexts, TextWindow } from '../families/index.js';
import {
  type BertTokenizerJson,
  encodingWindows,
  englishTokenizer,
  loadTokenizer,
  type Tokenizer,
  tokenizerConfig,
  trainWordPiece,
} from '../tokenizer/index.js';
import type { LoadedTokenizer } from './backbone.js';
import { type Hyperparameters, MAX_TOKENS, MAX_VOCABULARY, WINDOW_OVERLAP } from './hyperparameters.js';

/** Rows of a task as token ids, and what made them. */
export interface TokenizedRows {
  /** The tokenizer's files, parsed: tokenizer.json and tokenizer_config.json. */
  readonly tokenizerJson: unknown;
  readonly tokenizerConfig: object;
  readonly vocabularySize: number;
  readonly maskId: number;
  readonly train: readonly TextWindow[];
  readonly dev: readonly TextWindow[];
}

/**
 * Encodes every row.
 * @param backbone the tokenizer of what training starts from. Without one, it is the English vocabulary that comes along
 *   or one learned from the training texts.
 */
export function tokenize(
  { train, dev }: { readonly train: readonly string[]; readonly dev: readonly string[] },
  longTexts: LongTexts,
  { lowercase, language, maxTokens }: Hyperparameters,
  backbone?: LoadedTokenizer,
): Result<TokenizedRows, ModelFolderError> {
  const chosen = backbone ? ok(backbone) : chooseTokenizer(train, lowercase, language);
  return chosen.map(({ json, config, tokenizer }) => {
    const windows = (text: string, row: number) => textWindows(tokenizer, text, row, longTexts, maxTokens);
    return {
      tokenizerJson: json,
      tokenizerConfig: { ...config, model_max_length: maxTokens },
      vocabularySize: tokenizer.vocabularySize,
      maskId: tokenizer.specialTokens.mask,
      train: train.flatMap(windows),
      dev: dev.flatMap(windows),
    };
  });
}

function textWindows(
  tokenizer: Tokenizer,
  text: string,
  row: number,
  longTexts: LongTexts,
  maxTokens: number,
): TextWindow[] {
  if (longTexts === 'truncate') return [{ row, encoding: tokenizer.encode(text, { maxLength: maxTokens }) }];
  const windows = encodingWindows(tokenizer.encode(text), maxTokens, WINDOW_OVERLAP);
  return windows.map((encoding) => ({ row, encoding }));
}

function load(json: BertTokenizerJson): Result<LoadedTokenizer, ModelFolderError> {
  return loadTokenizer(json).map((tokenizer) => ({
    json,
    config: tokenizerConfig(json, MAX_TOKENS),
    tokenizer,
  }));
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
