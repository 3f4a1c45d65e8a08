import { ok, type Result } from 'neverthrow';
import type { ModelFolderError } from '../errors.js';
import type { Family, TextWindow } from '../families/index.js';
import {
  type BertTokenizerJson,
  encodingWindows,
  englishTokenizer,
  loadTokenizer,
  markCapitals,
  type Tokenizer,
  tokenizerConfig,
  trainWordPiece,
} from '../tokenizer/index.js';
import type { Backbone, LoadedTokenizer } from './backbone.js';
import { type Hyperparameters, MAX_TOKENS, MAX_VOCABULARY, WINDOW_OVERLAP } from './hyperparameters.js';

/** What decides how a text is read. */
type ReadingFamily = Pick<Family, 'longTexts' | 'marksCapitals'>;
type ReadingBackbone = Pick<Backbone, 'tokenizer' | 'lowercase' | 'encoder'>;

/** Rows of a task as token ids, and what made them. */
export interface TokenizedRows {
  /** The tokenizer's files, parsed: tokenizer.json and tokenizer_config.json. */
  readonly tokenizerJson: unknown;
  readonly tokenizerConfig: object;
  readonly vocabularySize: number;
  readonly maskId: number;
  /** Whether token types tell which pieces hold capitals. */
  readonly capitals: boolean;
  readonly train: readonly TextWindow[];
  readonly dev: readonly TextWindow[];
}

/**
 * Encodes every row.
 * @param backbone what training starts from. Without one, the tokenizer is the English vocabulary that comes along or one
 *   learned from the training texts.
 */
export function tokenize(
  { train, dev }: { readonly train: readonly string[]; readonly dev: readonly string[] },
  family: ReadingFamily,
  { lowercase, language, maxTokens }: Hyperparameters,
  backbone?: ReadingBackbone,
): Result<TokenizedRows, ModelFolderError> {
  const chosen = backbone ? ok(backbone.tokenizer) : chooseTokenizer(train, lowercase, language);
  const capitals = marksCapitals(family, lowercase, backbone);
  return chosen.map(({ json, config, tokenizer }) => {
    const encode: Tokenizer['encode'] = (text, options) => {
      const encoding = tokenizer.encode(text, options);
      return capitals ? markCapitals(text, encoding) : encoding;
    };
    const windows = (text: string, row: number) => textWindows(encode, text, row, family, maxTokens);
    return {
      tokenizerJson: json,
      tokenizerConfig: { ...config, model_max_length: maxTokens },
      vocabularySize: tokenizer.vocabularySize,
      maskId: tokenizer.specialTokens.mask,
      capitals,
      train: train.flatMap(windows),
      dev: dev.flatMap(windows),
    };
  });
}

/**
 * Where capitals are to count, a backbone whose vocabulary has none is told them by token types. Vocabularies that are
 * learned for such texts have capitals themselves.
 */
function marksCapitals(family: ReadingFamily, lowercase: boolean, backbone?: ReadingBackbone): boolean {
  if (backbone === undefined || lowercase) return false;
  return family.marksCapitals && backbone.lowercase && backbone.encoder.type_vocab_size > 1;
}

function textWindows(
  encode: Tokenizer['encode'],
  text: string,
  row: number,
  { longTexts }: ReadingFamily,
  maxTokens: number,
): TextWindow[] {
  if (longTexts === 'truncate') return [{ row, encoding: encode(text, { maxLength: maxTokens }) }];
  const overlap = Math.min(WINDOW_OVERLAP, Math.floor(maxTokens / 4));
  const windows = encodingWindows(encode(text), maxTokens, overlap);
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
