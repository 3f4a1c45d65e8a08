import { type Context, createContext, Script } from 'node:vm';
import type { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers';
import { ModelFolderError } from '../contract/index.js';
import { either, fields, nullable, recordOf, requireFor, requireShape, shaped, shortText } from '../system/index.js';
import { assemble, type SpecialTokenTemplates, type TemplatePart, type TextPieces } from './encoding.js';
import { MAX_INSERTED } from './steps/normalizers.js';
import { listedPieces, requirePiecesFit } from './steps/piece-models.js';
import type { EncodeOptions, Encoding, SpecialTokenIds, Tokenizer } from './tokenizer.js';
import { type AnyTokenizerJson, findSpecialTokens, idShape, type SpecialTokenNames } from './tokenizer-json.js';

/** A pattern may try every way to match; ordinary ones take 3 µs a character. */
const maxTextMs = (text: string): number => 2_000 + Math.ceil(text.length / 20);
/** 250,000 pieces take 500 ms. */
const MAX_LOAD_MS = 10_000;

/** @huggingface/tokenizers with truncation that keeps the special tokens; it has no offsets. */
class FallbackTokenizer implements Tokenizer {
  readonly vocabularySize: number;
  readonly #tokenizer: HuggingFaceTokenizer;
  readonly #templates: SpecialTokenTemplates;

  constructor(
    tokenizer: HuggingFaceTokenizer,
    readonly specialTokens: SpecialTokenIds,
    readonly withoutOffsets: string,
  ) {
    this.#tokenizer = tokenizer;
    this.#templates = { single: templateOf(tokenizer, false), pair: templateOf(tokenizer, true) };
    let highest = 0;
    for (const id of tokenizer.get_vocab().values()) highest = Math.max(highest, id);
    this.vocabularySize = highest + 1;
  }

  encode(text: string, { maxLength, pair }: EncodeOptions = {}): Encoding {
    const first = this.#pieces(text);
    if (pair === undefined) return assemble(this.#templates.single, [first], maxLength);
    return assemble(this.#templates.pair, [first, this.#pieces(pair)], maxLength);
  }

  token(id: number): string | undefined {
    return this.#tokenizer.id_to_token(id);
  }

  #pieces(text: string): TextPieces {
    try {
      return withTimeLimit(maxTextMs(text), () => this.#piecesOf(text));
    } catch (cause) {
      throw refusal(`can't read a text of ${text.length} characters`, cause);
    }
  }

  #piecesOf(text: string): TextPieces {
    const { ids } = this.#tokenizer.encode(text, { add_special_tokens: false });
    return {
      // If a model has no unknown token, the package leaves a hole for a piece outside the vocabulary.
      ids: Int32Array.from(ids, (id: number | undefined) => id ?? this.specialTokens.unknown),
      length: ids.length,
      offsets: null,
    };
  }
}

/** On first use: most models have a tokenizer of BERT's kind. */
function loadPackage(): typeof import('@huggingface/tokenizers') {
  return requireFor('@huggingface/tokenizers')('@huggingface/tokenizers');
}

/** @param unknown the part of the file that we don't know. @throws ModelFolderError */
export function createFallbackTokenizer(json: AnyTokenizerJson, config: SpecialTokenNames, unknown: string): Tokenizer {
  const absent = {
    normalizer: null,
    pre_tokenizer: null,
    post_processor: null,
    decoder: null,
    added_tokens: [],
  };
  requireModelLimits(json);
  const { Tokenizer } = loadPackage();
  try {
    return withTimeLimit(MAX_LOAD_MS, () => {
      // Only decoding needs them.
      const settings = { ...config, additional_special_tokens: [] };
      const tokenizer = new Tokenizer({ ...absent, ...json, decoder: null }, settings);
      const specialTokens = findSpecialTokens((token) => tokenizer.token_to_id(token), config);
      return new FallbackTokenizer(tokenizer, specialTokens, unknown);
    });
  } catch (cause) {
    throw refusal("can't be used", cause);
  }
}

function refusal(what: string, cause: unknown): ModelFolderError {
  if (cause instanceof ModelFolderError) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new ModelFolderError('tokenizer.json', `${what}: ${reason}`, { cause });
}

/** What the post-processor adds, found with one placeholder for each text. */
function templateOf(tokenizer: HuggingFaceTokenizer, pair: boolean): TemplatePart[] {
  const first = '\u0000first';
  const second = '\u0000second';
  const { tokens, token_type_ids } = tokenizer.post_processor?.([first], pair ? [second] : null, true) ?? {
    tokens: pair ? [first, second] : [first],
  };
  return tokens.map((token, index): TemplatePart => {
    const typeId = token_type_ids?.[index] ?? 0;
    if (token === first) return { kind: 'text', text: 0, typeId };
    if (token === second) return { kind: 'text', text: 1, typeId };
    const id = tokenizer.token_to_id(token);
    if (id === undefined) throw new Error(`post_processor adds ${JSON.stringify(token)}, which has no id`);
    return { kind: 'special', id, typeId };
  });
}

const affix = nullable(shortText(MAX_INSERTED));
const modelShape = fields(
  {},
  {
    vocab: either(listedPieces, recordOf(idShape)),
    continuing_subword_prefix: affix,
    continuing_subword_suffix: affix,
    end_of_word_suffix: affix,
    unk_id: nullable(idShape),
  },
);

/** The package would take the model as it is. @throws ModelFolderError */
function requireModelLimits(json: AnyTokenizerJson): void {
  const { vocab } = requireShape(modelShape, json.model, 'tokenizer.json', 'model');
  requirePiecesFit(shaped(listedPieces, vocab) ?? [], 'tokenizer.json');
}

export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError';
  constructor(readonly limitMs: number) {
    super(`it took longer than ${limitMs} ms`);
  }
}

let caller: { readonly script: Script; readonly context: Context } | undefined;

/** A call costs some 60 µs. @throws TimeLimitError */
export function withTimeLimit<T>(limitMs: number, work: () => T): T {
  caller ??= { script: new Script('work()'), context: createContext(Object.create(null)) };
  const { script, context } = caller;
  const results: T[] = [];
  context.work = () => {
    results.push(work());
  };
  try {
    script.runInContext(context, { timeout: limitMs });
  } catch (thrown) {
    if (isTimeout(thrown)) throw new TimeLimitError(limitMs);
    throw thrown;
  } finally {
    context.work = undefined;
  }
  for (const result of results) return result;
  throw new TimeLimitError(limitMs);
}

function isTimeout(thrown: unknown): boolean {
  // The error may be of another realm, whose Error is another class.
  const isCoded = typeof thrown === 'object' && thrown !== null && 'code' in thrown;
  return isCoded && thrown.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}
