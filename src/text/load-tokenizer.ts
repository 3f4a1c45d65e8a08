import { ModelFolderError } from '../contract/index.js';
import { requireShape } from '../system/index.js';
import { createJsonTokenizer, requireLimits } from './json-tokenizer.js';
import { createPipelineTokenizer } from './pipeline-tokenizer.js';
import { readTemplates } from './post-processors.js';
import type { Tokenizer } from './tokenizer.js';
import {
  type AnyTokenizerJson,
  anyTokenizerJsonShape,
  bertTokenizerJsonShape,
  findSpecialTokens,
  idShape,
  type ReadBertTokenizerJson,
  type SpecialTokenNames,
  specialTokenNamesShape,
  UnknownPartError,
} from './tokenizer-json.js';
import { WordPieceTokenizer } from './word-piece-tokenizer.js';

/** Makes a tokenizer from the parsed files of a model folder. */

/** Named in errors. */
const TOKENIZER_FILE = 'tokenizer.json';

/** Characters of a piece that errors quote. */
const MAX_QUOTED_CHARACTERS = 100;

/** Most code points of a word that is split, unless the file says otherwise. */
const MAX_CHARACTERS_PER_WORD = 100;

/**
 * The tokenizer of a parsed tokenizer.json: a single pass over the text if the file is of BERT's kind, else its steps
 * one after the other, and a wrapper of @huggingface/tokenizers, without offsets, if one of them isn't known here. The
 * file's truncation and padding are ignored: callers say what they need.
 * @param config the parsed tokenizer_config.json. Only its names of the special tokens are read and, for the wrapper,
 * what @huggingface/tokenizers reads; case folding is decided by tokenizer.json.
 * @throws ModelFolderError
 */
export function loadTokenizer(tokenizerJson: unknown, config: unknown = {}): Tokenizer {
  const names = requireShape(specialTokenNamesShape, config, 'tokenizer_config.json');
  const json = requireShape(anyTokenizerJsonShape, tokenizerJson, TOKENIZER_FILE);
  if (!isBertStyle(json)) {
    requireLimits(json, TOKENIZER_FILE);
    return createOther(json, names);
  }
  return createWordPieceTokenizer(requireShape(bertTokenizerJsonShape, tokenizerJson, TOKENIZER_FILE), names);
}

function createOther(json: AnyTokenizerJson, names: SpecialTokenNames): Tokenizer {
  try {
    return createPipelineTokenizer(json, names, TOKENIZER_FILE);
  } catch (thrown) {
    if (!(thrown instanceof UnknownPartError)) throw thrown;
    return createJsonTokenizer(json, names, thrown.part);
  }
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
    templates: readTemplates(post_processor, TOKENIZER_FILE),
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
      const reason = `model.vocab.${piece.slice(0, MAX_QUOTED_CHARACTERS)}: expected ${problem.expected}`;
      throw new ModelFolderError(TOKENIZER_FILE, reason);
    }
    vocabulary.set(piece, id);
  }
  return vocabulary;
}
