/** Makes a tokenizer from the parsed files of a model folder. */
import { ModelFolderError } from '../errors.js';
import { checkFile } from './check-file.js';
import { createJsonTokenizer } from './json-tokenizer.js';
import type { SpecialTokenTemplates, TemplatePart } from './special-token-template.js';
import { findSpecialTokens } from './special-tokens.js';
import type { Tokenizer } from './tokenizer.js';
import {
  type AnyTokenizerJson,
  anyTokenizerJsonSchema,
  type BertTokenizerJson,
  bertTokenizerJsonSchema,
  type SpecialTokenNames,
  specialTokenNamesSchema,
  type TemplatePiece,
} from './tokenizer-json.js';
import { WordPieceTokenizer } from './word-piece-tokenizer.js';

/**
 * The tokenizer of a parsed tokenizer.json: our own fast one if the file is of BERT's kind, else a wrapper of
 * @huggingface/tokenizers. The file's truncation and padding are ignored: callers say what they need.
 * @param config the parsed tokenizer_config.json. Only its names of the special tokens are read and, for
 * other tokenizers than BERT's, what @huggingface/tokenizers reads; case folding is decided by
 * tokenizer.json.
 * @throws ModelFolderError
 */
export function loadTokenizer(tokenizerJson: unknown, config: unknown = {}): Tokenizer {
  const names = checkFile(specialTokenNamesSchema, config, 'tokenizer_config.json');
  const json = checkFile(anyTokenizerJsonSchema, tokenizerJson, 'tokenizer.json');
  if (!isBertStyle(json)) return createJsonTokenizer(json, names);
  return createWordPieceTokenizer(checkFile(bertTokenizerJsonSchema, tokenizerJson, 'tokenizer.json'), names);
}

function isBertStyle({
  model,
  normalizer,
  pre_tokenizer,
  post_processor,
  added_tokens,
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
  { model, normalizer, post_processor, added_tokens }: BertTokenizerJson,
  names: SpecialTokenNames,
): Tokenizer {
  const vocabulary = new Map(Object.entries(model.vocab));
  const unknownId = vocabulary.get(model.unk_token);
  if (unknownId === undefined) {
    const reason = `model.unk_token: ${JSON.stringify(model.unk_token)} is not in model.vocab`;
    throw new ModelFolderError('tokenizer.json', reason);
  }
  const added = new Map(added_tokens.map(({ content, id }) => [content, id]));
  const idOf = (token: string) => added.get(token) ?? vocabulary.get(token);
  return new WordPieceTokenizer({
    vocabulary,
    unknownId,
    specialTokens: findSpecialTokens(idOf, names),
    templates: templatesOf(post_processor),
    continuingPrefix: model.continuing_subword_prefix,
    maxCharactersPerWord: model.max_input_chars_per_word,
    normalization: {
      cleanText: normalizer.clean_text,
      handleChineseCharacters: normalizer.handle_chinese_chars,
      stripAccents: normalizer.strip_accents ?? normalizer.lowercase,
      lowercase: normalizer.lowercase,
    },
    addedTokens: added_tokens.map(({ id, content, lstrip, rstrip }) => ({
      id,
      content,
      stripLeft: lstrip,
      stripRight: rstrip,
    })),
  });
}

const FIRST: TemplatePart = { kind: 'text', text: 0, typeId: 0 };
const SECOND: TemplatePart = { kind: 'text', text: 1, typeId: 1 };

/** @throws ModelFolderError if a token of the template has no ids. */
function templatesOf(processor: BertTokenizerJson['post_processor']): SpecialTokenTemplates {
  if (processor === null) return { single: [FIRST], pair: [FIRST, SECOND] };
  if (processor.type === 'BertProcessing') {
    const classifier: TemplatePart = { kind: 'special', id: processor.cls[1], typeId: 0 };
    const separator: TemplatePart = { kind: 'special', id: processor.sep[1], typeId: 0 };
    const single = [classifier, FIRST, separator];
    return { single, pair: [...single, SECOND, { ...separator, typeId: 1 }] };
  }
  const missing = [...processor.single, ...processor.pair]
    .map((piece) => ('SpecialToken' in piece ? piece.SpecialToken.id : undefined))
    .find((token) => token !== undefined && processor.special_tokens[token] === undefined);
  if (missing !== undefined) {
    const reason = `post_processor.special_tokens: ${JSON.stringify(missing)} of the template is missing`;
    throw new ModelFolderError('tokenizer.json', reason);
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
