import { ModelFolderError } from '../contract/index.js';
import { requireShape } from '../system/index.js';
import { readTemplates } from './post-processors.js';
import { readBertNormalization } from './steps/bert-normalization.js';
import { readWordPieces } from './steps/piece-models.js';
import type { Tokenizer } from './tokenizer.js';
import {
  type AnyTokenizerJson,
  anyTokenizerJsonShape,
  type SpecialTokenNames,
  specialTokenNamesShape,
  TOKENIZER_CONFIG,
  TOKENIZER_FILE,
} from './tokenizer-json.js';
import { createWordPieceTokenizer } from './word-piece-tokenizer.js';

/** A tokenizer of BERT's kind, which reads a text in one pass and runs no pattern of its file; undefined for another kind. */
export function bertStyleTokenizer(json: AnyTokenizerJson, names: SpecialTokenNames): Tokenizer | undefined {
  if (!isBertStyle(json)) return undefined;
  return createWordPieceTokenizer({
    ...readWordPieces(json.model, TOKENIZER_FILE),
    normalization: readBertNormalization(json.normalizer, TOKENIZER_FILE),
    templates: readTemplates(json.post_processor, TOKENIZER_FILE),
    addedTokens: json.added_tokens ?? [],
    names,
  });
}

/** For places where patterns can't be given a time limit. @throws ModelFolderError for a tokenizer of another kind than BERT's */
export function loadBertStyleTokenizer(tokenizerJson: unknown, config: unknown = {}): Tokenizer {
  const names = requireShape(specialTokenNamesShape, config, TOKENIZER_CONFIG);
  const json = requireShape(anyTokenizerJsonShape, tokenizerJson, TOKENIZER_FILE);
  const tokenizer = bertStyleTokenizer(json, names);
  if (tokenizer !== undefined) return tokenizer;
  throw new ModelFolderError(
    TOKENIZER_FILE,
    'it is not a BERT-style tokenizer, the only kind that runs outside Node.js',
  );
}

function isBertStyle({
  model,
  normalizer,
  pre_tokenizer,
  post_processor,
  added_tokens = [],
}: AnyTokenizerJson): boolean {
  const isWordPiece =
    model.type === 'WordPiece' || (model.type === undefined && typeof model.continuing_subword_prefix === 'string');
  const processors = [undefined, 'TemplateProcessing', 'BertProcessing'];
  return (
    isWordPiece &&
    normalizer?.type === 'BertNormalizer' &&
    pre_tokenizer?.type === 'BertPreTokenizer' &&
    processors.includes(post_processor?.type) &&
    added_tokens.every((token) => !token.normalized && !token.single_word)
  );
}
