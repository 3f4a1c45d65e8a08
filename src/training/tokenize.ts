import type { Family, TrainingTask } from '../families/index.js';
import { type Steps, withPauses } from '../system/index.js';
import {
  type BertTokenizerJson,
  defaultWindowOverlap,
  englishTokenizer,
  loadTokenizer,
  type ReadingFields,
  TextReader,
  type TextWindow,
  type Tokenizer,
  tokenizerConfig,
  wordPieceSteps,
} from '../text/index.js';
import type { Backbone, LoadedTokenizer } from './backbone.js';
import { type Hyperparameters, MAX_TOKENS, MAX_VOCABULARY } from './hyperparameters.js';

/** What the reading of a task's texts depends on. */
type ReadingFamily = Pick<Family, 'longTexts' | 'marksCapitals'>;
type ReadingBackbone = Pick<Backbone, 'tokenizer' | 'lowercase' | 'encoder'>;
type ReadTask = Pick<TrainingTask, 'train' | 'dev' | 'describe'>;

/** Rows of a task as token ids, and the tokenizer that made them. */
export interface TokenizedRows {
  /** The tokenizer's files, parsed: tokenizer.json and tokenizer_config.json. */
  readonly tokenizerJson: unknown;
  readonly tokenizerConfig: object;
  readonly vocabularySize: number;
  readonly maskId: number;
  /** How texts are read. The model folder keeps it, so that queries are read as the rows were. */
  readonly reading: ReadingFields;
  /** Reads texts so. */
  readonly reader: TextReader;
  readonly train: readonly TextWindow[];
  readonly dev: readonly TextWindow[];
}

/**
 * Reads every row as the finished model will read texts.
 * @param backbone what training starts from. Without one, the tokenizer is the English vocabulary of this
 *   package, or one learned from the training texts.
 * @throws AbortedError soon after the signal fires.
 */
export async function tokenize(
  task: ReadTask,
  family: ReadingFamily,
  { lowercase, language, maxTokens }: Hyperparameters,
  backbone?: ReadingBackbone,
  signal?: AbortSignal,
): Promise<TokenizedRows> {
  const choosing = () => withPauses(chooseTokenizer(task.train, lowercase, language), signal);
  const { json, config, tokenizer } = backbone?.tokenizer ?? (await choosing());
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
    reader,
    train: await withPauses(reader.reading(task.train), signal),
    dev: await withPauses(reader.reading(task.dev), signal),
  };
}

/**
 * Whether token types mark capitals: they do where case counts and the backbone's vocabulary has no capitals.
 * Vocabularies that are trained for such texts have capitals themselves.
 */
function marksCapitals(family: ReadingFamily, lowercase: boolean, backbone?: ReadingBackbone): boolean {
  if (backbone === undefined || lowercase) return false;
  return family.marksCapitals && backbone.lowercase && backbone.encoder.tokenTypes > 1;
}

function load(json: BertTokenizerJson): LoadedTokenizer {
  return { json, config: tokenizerConfig(json, MAX_TOKENS), tokenizer: loadTokenizer(json) };
}

/**
 * The bundled vocabulary of general English, where it fits: it has words that a small dataset lacks
 * (docs/training.md measures what that brings). Otherwise a vocabulary is trained.
 */
function* chooseTokenizer(texts: readonly string[], lowercase: boolean, language: string): Steps<LoadedTokenizer> {
  if (lowercase && language.toLowerCase() === 'english') {
    const english = load(englishTokenizer());
    if (yield* readsWell(english.tokenizer, texts)) return english;
  }
  return load(yield* wordPieceSteps(texts, { vocabularySize: MAX_VOCABULARY, lowercase, language }));
}

/** Texts that are tried to see whether a vocabulary fits. */
const TEXTS_TO_TRY = 1000;
/** English has about 1.3 pieces per word, punctuation included; texts in another language have several. */
const MAX_PIECES_PER_WORD = 2;

function* readsWell(tokenizer: Tokenizer, texts: readonly string[]): Steps<boolean> {
  let words = 0;
  let pieces = 0;
  for (const text of texts.slice(0, TEXTS_TO_TRY)) {
    yield;
    words += text.split(/\s+/u).length;
    pieces += tokenizer.encode(text).sequenceIds.filter((id) => id === 0).length;
  }
  return pieces <= MAX_PIECES_PER_WORD * words;
}
