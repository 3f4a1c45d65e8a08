import type { Family, TrainingTask } from '../families/index.js';
import {
  defaultWindowOverlap,
  type ReadingFields,
  TextReader,
  type TextWindow,
} from '../text-reader/index.js';
import {
  type BertTokenizerJson,
  englishTokenizer,
  loadTokenizer,
  type Tokenizer,
  tokenizerConfig,
  trainWordPiece,
} from '../tokenizer/index.js';
import type { Backbone, LoadedTokenizer } from './backbone.js';
import { type Hyperparameters, MAX_TOKENS, MAX_VOCABULARY } from './hyperparameters.js';

/** What decides how a text is read. */
type ReadingFamily = Pick<Family, 'longTexts' | 'marksCapitals'>;
type ReadingBackbone = Pick<Backbone, 'tokenizer' | 'lowercase' | 'encoder'>;
type ReadTask = Pick<TrainingTask, 'train' | 'dev' | 'describe'>;

/** Rows of a task as token ids, and what made them. */
export interface TokenizedRows {
  /** The tokenizer's files, parsed: tokenizer.json and tokenizer_config.json. */
  readonly tokenizerJson: unknown;
  readonly tokenizerConfig: object;
  readonly vocabularySize: number;
  readonly maskId: number;
  /** How texts are read; the model folder keeps it, so that answers are read as the rows were. */
  readonly reading: ReadingFields;
  readonly train: readonly TextWindow[];
  readonly dev: readonly TextWindow[];
}

/**
 * Reads every row as the finished model will read texts.
 * @param backbone what training starts from. Without one, the tokenizer is the English vocabulary of this package, or
 *   one learned from the training texts.
 */
export function tokenize(
  task: ReadTask,
  family: ReadingFamily,
  { lowercase, language, maxTokens }: Hyperparameters,
  backbone?: ReadingBackbone,
): TokenizedRows {
  const { json, config, tokenizer } = backbone?.tokenizer ?? chooseTokenizer(task.train, lowercase, language);
  const reading: ReadingFields = {
    max_tokens: maxTokens,
    pooling: task.describe().pooling,
    ...(family.longTexts === 'windows' && { window_overlap: defaultWindowOverlap(maxTokens) }),
    ...(marksCapitals(family, lowercase, backbone) && { token_types: 'capitals' }),
  };
  const reader = new TextReader(tokenizer, reading);
  return {
    tokenizerJson: json,
    tokenizerConfig: { ...config, model_max_length: maxTokens },
    vocabularySize: tokenizer.vocabularySize,
    maskId: tokenizer.specialTokens.mask,
    reading,
    train: reader.read(task.train),
    dev: reader.read(task.dev),
  };
}

/**
 * Where capitals are to count, a backbone whose vocabulary has none is told them by token types. Vocabularies that are
 * learned for such texts have capitals themselves.
 */
function marksCapitals(family: ReadingFamily, lowercase: boolean, backbone?: ReadingBackbone): boolean {
  if (backbone === undefined || lowercase) return false;
  return family.marksCapitals && backbone.lowercase && backbone.encoder.type_vocab_size > 1;
}

function load(json: BertTokenizerJson): LoadedTokenizer {
  return { json, config: tokenizerConfig(json, MAX_TOKENS), tokenizer: loadTokenizer(json) };
}

/** A vocabulary of general English knows words that a small dataset lacks (docs/training.md has what that brings). */
function chooseTokenizer(texts: readonly string[], lowercase: boolean, language: string): LoadedTokenizer {
  if (lowercase && language.toLowerCase() === 'english') {
    const english = load(englishTokenizer());
    if (readsWell(english.tokenizer, texts)) return english;
  }
  return load(trainWordPiece(texts, { vocabularySize: MAX_VOCABULARY, lowercase, language }));
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
