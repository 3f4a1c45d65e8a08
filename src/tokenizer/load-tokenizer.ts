/** Makes a tokenizer from the parsed files of a model folder. */
import { ModelFolderError } from '../errors.js';
import { requireShape } from '../json-shape.js';
import { createJsonTokenizer } from './json-tokenizer.js';
import { requireLimits } from './json-tokenizer-limits.js';
import type { SpecialTokenTemplates, TemplatePart } from './special-token-template.js';
import { findSpecialTokens } from './special-tokens.js';
import type { Tokenizer } from './tokenizer.js';
import {
  type AnyTokenizerJson,
  anyTokenizerJsonShape,
  bertTokenizerJsonShape,
  idShape,
  type ReadBertTokenizerJson,
  type SpecialTokenNames,
  specialTokenNamesShape,
  type TemplatePiece,
} from './tokenizer-json.js';
import { WordPieceTokenizer } from './word-piece-tokenizer.js';

/** Named in errors. */
const TOKENIZER_FILE = 'tokenizer.json';

/** So much of a piece is told in errors. */
const MAX_TOLD_CHARACTERS = 100;

/** Most code points of a word that is split, unless the file says otherwise. */
const MAX_CHARACTERS_PER_WORD = 100;

/**
 * The tokenizer of a parsed tokenizer.json: our own fast one if the file is of BERT's kind, else a wrapper of
 * @huggingface/tokenizers. The file's truncation and padding are ignored: callers say what they need.
 * @param config the parsed tokenizer_config.json. Only its names of the special tokens are read and, for
 * other tokenizers than BERT's, what @huggingface/tokenizers reads; case folding is decided by
 * tokenizer.json.
 * @throws ModelFolderError
 */
export function loadTokenizer(tokenizerJson: unknown, config: unknown = {}): Tokenizer {
  const names = requireShape(specialTokenNamesShape, config, 'tokenizer_config.json');
  const json = requireShape(anyTokenizerJsonShape, tokenizerJson, TOKENIZER_FILE);
  if (!isBertStyle(json)) {
    requireLimits(json, TOKENIZER_FILE);
    return createJsonTokenizer(json, names);
  }
  return createWordPieceTokenizer(requireShape(bertTokenizerJsonShape, tokenizerJson, TOKENIZER_FILE), names);
}

function isBertStyle({
  model,
  normalizer,
  pre_tokenizer,
  post_processor,
  added_tokens = [],
}: AnyTokenizerJson): boolean {
  const isWordPiece =
    model.type === 'WordPiece' ||
    (model.type === undefined && typeof model.continuing_subword_prefix === 'string');
  const processors = [undefined, 'TemplateProcessing', 'BertProcessing'];
  return (
    isWordPiece &&
    normalizer?.type === 'BertNormalizer' &&
    pre_tokenizer?.type === 'BertPreTokenizer' &&
    processors.includes(post_processor?.type) &&
    added_tokens.every((token) => !token.normalized && !token.single_word)
  );
}

function createWordPieceTokenizer(
  { model, normalizer, post_processor = null, added_tokens = [] }: ReadBertTokenizerJson,
  names: SpecialTokenNames,
): Tokenizer {
  const { unk_token = '[UNK]', continuing_subword_prefix = '##' } = model;
  const vocabulary = readVocabulary(model.vocab);
  const unknownId = vocabulary.get(unk_token);
  if (unknownId === undefined) {
    const reason = `model.unk_token: ${JSON.stringify(unk_token)} is not in model.vocab`;
    throw new ModelFolderError(TOKENIZER_FILE, reason);
  }
  const added = new Map(added_tokens.map(({ content, id }) => [content, id]));
  const idOf = (token: string) => added.get(token) ?? vocabulary.get(token);
  const { clean_text = true, handle_chinese_chars = true, lowercase = true } = normalizer;
  return new WordPieceTokenizer({
    vocabulary,
    unknownId,
    specialTokens: findSpecialTokens(idOf, names),
    templates: templatesOf(post_processor),
    continuingPrefix: continuing_subword_prefix,
    maxCharactersPerWord: model.max_input_chars_per_word ?? MAX_CHARACTERS_PER_WORD,
    normalization: {
      cleanText: clean_text,
      handleChineseCharacters: handle_chinese_chars,
      stripAccents: normalizer.strip_accents ?? lowercase,
      lowercase,
    },
    addedTokens: added_tokens.map(({ id, content, lstrip = false, rstrip = false }) => ({
      id,
      content,
      stripLeft: lstrip,
      stripRight: rstrip,
    })),
  });
}

/** @returns piece to id. @throws ModelFolderError for a piece whose id isn't one. */
function readVocabulary(vocab: Readonly<Record<string, unknown>>): ReadonlyMap<string, number> {
  const vocabulary = new Map<string, number>();
  const problem = { path: [], expected: '' };
  for (const piece of Object.keys(vocab)) {
    const id = vocab[piece];
    if (!idShape(id, problem)) {
      const reason = `model.vocab.${piece.slice(0, MAX_TOLD_CHARACTERS)}: expected ${problem.expected}`;
      throw new ModelFolderError(TOKENIZER_FILE, reason);
    }
    vocabulary.set(piece, id);
  }
  return vocabulary;
}

const FIRST: TemplatePart = { kind: 'text', text: 0, typeId: 0 };
const SECOND: TemplatePart = { kind: 'text', text: 1, typeId: 1 };

/** @throws ModelFolderError if a token of the template has no ids. */
function templatesOf(
  processor: NonNullable<ReadBertTokenizerJson['post_processor']> | null,
): SpecialTokenTemplates {
  if (processor === null) return { single: [FIRST], pair: [FIRST, SECOND] };
  if (processor.type === 'BertProcessing') {
    const classifier: TemplatePart = { kind: 'special', id: processor.cls[1], typeId: 0 };
    const separator: TemplatePart = { kind: 'special', id: processor.sep[1], typeId: 0 };
    const single = [classifier, FIRST, separator];
    return { single, pair: [...single, SECOND, { ...separator, typeId: 1 }] };
  }
  const missing = [...processor.single, ...processor.pair]
    .map((piece) => ('SpecialToken' in piece ? piece.SpecialToken.id : undefined))
    .find((token) => token !== undefined && !Object.hasOwn(processor.special_tokens, token));
  if (missing !== undefined) {
    const reason = `post_processor.special_tokens: ${JSON.stringify(missing)} of the template is missing`;
    throw new ModelFolderError(TOKENIZER_FILE, reason);
  }
  const parts = (piece: TemplatePiece) => templateParts(piece, processor.special_tokens);
  return { single: processor.single.flatMap(parts), pair: processor.pair.flatMap(parts) };
}

function templateParts(
  piece: TemplatePiece,
  specialTokens: Readonly<Record<string, { readonly ids: readonly number[] }>>,
): TemplatePart[] {
  if ('Sequence' in piece) {
    return [{ kind: 'text', text: piece.Sequence.id === 'A' ? 0 : 1, typeId: piece.Sequence.type_id }];
  }
  const ids = specialTokens[piece.SpecialToken.id]?.ids ?? [];
  return ids.map((id) => ({ kind: 'special', id, typeId: piece.SpecialToken.type_id }));
}
