/** From the parsed files of a model folder to a tokenizer. */
import { err, ok, type Result } from 'neverthrow';
import type * as z from 'zod';
import { ModelFolderError } from '../errors.js';
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
 * The tokenizer of a parsed tokenizer.json: our own fast one where it is of BERT's kind, else a wrapper of
 * @huggingface/tokenizers. The file's own truncation and padding are left aside: callers say what they need.
 * @param config the parsed tokenizer_config.json; only its names of the special tokens are read, and for other
 * tokenizers than BERT's what @huggingface/tokenizers reads. Case folding is what tokenizer.json says.
 */
export function loadTokenizer(
  tokenizerJson: unknown,
  config: unknown = {},
): Result<Tokenizer, ModelFolderError> {
  return parse(specialTokenNamesSchema, config, 'tokenizer_config.json').andThen((names) =>
    parse(anyTokenizerJsonSchema, tokenizerJson, 'tokenizer.json').andThen(
      (json): Result<Tokenizer, ModelFolderError> =>
        isBertStyle(json)
          ? parse(bertTokenizerJsonSchema, tokenizerJson, 'tokenizer.json').andThen((bert) =>
              createWordPieceTokenizer(bert, names),
            )
          : createJsonTokenizer(json, names),
    ),
  );
}

function parse<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  file: string,
): Result<z.infer<Schema>, ModelFolderError> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return ok(parsed.data);
  const [issue] = parsed.error.issues;
  const field = issue === undefined || issue.path.length === 0 ? 'the file' : issue.path.join('.');
  return err(new ModelFolderError(file, `${field}: ${issue?.message}`, { cause: parsed.error }));
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
): Result<Tokenizer, ModelFolderError> {
  const vocabulary = new Map(Object.entries(model.vocab));
  const unknownId = vocabulary.get(model.unk_token);
  if (unknownId === undefined) {
    const reason = `model.unk_token: ${JSON.stringify(model.unk_token)} is not in model.vocab`;
    return err(new ModelFolderError('tokenizer.json', reason));
  }
  const added = new Map(added_tokens.map(({ content, id }) => [content, id]));
  const idOf = (token: string) => added.get(token) ?? vocabulary.get(token);
  return findSpecialTokens(idOf, names).andThen((specialTokens) =>
    templatesOf(post_processor).map(
      (templates) =>
        new WordPieceTokenizer({
          vocabulary,
          unknownId,
          specialTokens,
          templates,
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
        }),
    ),
  );
}

const FIRST: TemplatePart = { kind: 'text', text: 0, typeId: 0 };
const SECOND: TemplatePart = { kind: 'text', text: 1, typeId: 1 };

function templatesOf(
  processor: BertTokenizerJson['post_processor'],
): Result<SpecialTokenTemplates, ModelFolderError> {
  if (processor === null) return ok({ single: [FIRST], pair: [FIRST, SECOND] });
  if (processor.type === 'BertProcessing') {
    const classifier: TemplatePart = { kind: 'special', id: processor.cls[1], typeId: 0 };
    const separator: TemplatePart = { kind: 'special', id: processor.sep[1], typeId: 0 };
    const single = [classifier, FIRST, separator];
    return ok({ single, pair: [...single, SECOND, { ...separator, typeId: 1 }] });
  }
  const missing = [...processor.single, ...processor.pair]
    .map((piece) => ('SpecialToken' in piece ? piece.SpecialToken.id : undefined))
    .find((token) => token !== undefined && processor.special_tokens[token] === undefined);
  if (missing !== undefined) {
    const reason = `post_processor.special_tokens: ${JSON.stringify(missing)} of the template is missing`;
    return err(new ModelFolderError('tokenizer.json', reason));
  }
  const parts = (piece: TemplatePiece) => templateParts(piece, processor.special_tokens);
  return ok({ single: processor.single.flatMap(parts), pair: processor.pair.flatMap(parts) });
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
