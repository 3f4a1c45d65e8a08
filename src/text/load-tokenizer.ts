import { type Context, createContext, Script } from 'node:vm';
import type { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers';
import { ModelFolderError, messageOf } from '../contract/index.js';
import {
  either,
  fields,
  type JsonProblem,
  type JsonShape,
  listOf,
  nullable,
  object,
  oneOf,
  recordOf,
  requireFor,
  requireShape,
  type Shaped,
  shaped,
  shortText,
  whole,
} from '../system/index.js';
import { bertStyleTokenizer } from './bert-style-tokenizer.js';
import { assemble, type SpecialTokenTemplates, type TemplatePart, type TextPieces } from './encoding.js';
import { createPipelineTokenizer } from './pipeline-tokenizer.js';
import { MAX_PATTERN } from './steps/aligned-text.js';
import { MAX_FORM_BYTES, MAX_INSERTED } from './steps/normalizers.js';
import { listedPieces, requirePiecesFit } from './steps/piece-models.js';
import { maxTextMs, TimeLimitError } from './time-limit.js';
import type { EncodeOptions, Encoding, SpecialTokenIds, Tokenizer } from './tokenizer.js';
import {
  type AnyTokenizerJson,
  anyTokenizerJsonShape,
  findSpecialTokens,
  idShape,
  type SpecialTokenNames,
  specialTokenNamesShape,
  TOKENIZER_CONFIG,
  TOKENIZER_FILE,
  templatesShape,
  UnknownPartError,
} from './tokenizer-json.js';

/** One pass for BERT's kind, else step by step; unknown steps need @huggingface/tokenizers, without offsets. */
export function loadTokenizer(tokenizerJson: unknown, config: unknown = {}): Tokenizer {
  const names = requireShape(specialTokenNamesShape, config, TOKENIZER_CONFIG);
  const json = requireShape(anyTokenizerJsonShape, tokenizerJson, TOKENIZER_FILE);
  const bertStyle = bertStyleTokenizer(json, names);
  if (bertStyle !== undefined) return bertStyle;
  requireLimits(json);
  try {
    return createPipelineTokenizer(json, names, TOKENIZER_FILE);
  } catch (thrown) {
    if (!(thrown instanceof UnknownPartError)) throw thrown;
    return createFallbackTokenizer(json, names, thrown.part);
  }
}

/** Steps within steps; two are usual. */
const MAX_DEPTH = 8;
/** Steps of one part together; Moses' rules for punctuation are some 40. */
const MAX_STEPS = 128;
/** How many times as long a text may become; NFKC of one character has up to 18. */
const MAX_GROWTH = 256;

const inserted = shortText(MAX_INSERTED);
const pattern = shortText(MAX_PATTERN);
const patternShape = fields({}, { Regex: pattern, String: pattern });

/** Other types have no field that matters. */
const stepShapes: ReadonlyMap<unknown, JsonShape<object>> = new Map<unknown, JsonShape<object>>([
  ['Replace', fields({ pattern: patternShape }, { content: nullable(inserted) })],
  ['Split', fields({ pattern: patternShape }, {})],
  ['Prepend', fields({ prepend: inserted }, {})],
  ['Metaspace', fields({}, { replacement: nullable(inserted), str_rep: nullable(inserted) })],
  ['FixedLength', fields({ length: whole(1) }, {})],
  ['TemplateProcessing', templatesShape],
]);

const within = fields(
  {},
  {
    normalizers: listOf(object, MAX_STEPS),
    pretokenizers: listOf(object, MAX_STEPS),
    processors: listOf(object, MAX_STEPS),
  },
);

type Step = Readonly<Record<string, unknown>>;

function areSteps(value: unknown, problem: JsonProblem): value is object | null {
  const found: Step[] = [];
  return value === null || (gather(value, problem, found, 1) && doesNotGrow(found, problem));
}

function gather(value: unknown, problem: JsonProblem, found: Step[], depth: number): boolean {
  if (!object(value, problem)) return false;
  found.push(value);
  const refused = (expected: string) => {
    problem.expected = expected;
    return false;
  };
  if (depth > MAX_DEPTH) return refused(`at most ${MAX_DEPTH} sequences within each other`);
  if (found.length > MAX_STEPS) return refused(`at most ${MAX_STEPS} steps`);
  const shape = stepShapes.get(value.type);
  if (shape !== undefined && !shape(value, problem)) return false;
  if (value.type !== 'Sequence') return true;
  if (!within(value, problem)) return false;
  const inner = Object.entries({ ...lists(value) });
  return inner.every(([name, list]) =>
    list.every((each, index) => {
      if (gather(each, problem, found, depth + 1)) return true;
      problem.path.unshift(name, String(index));
      return false;
    }),
  );
}

function lists({ normalizers, pretokenizers, processors }: Shaped<typeof within>): Record<string, Step[]> {
  return {
    ...(normalizers && { normalizers }),
    ...(pretokenizers && { pretokenizers }),
    ...(processors && { processors }),
  };
}

function doesNotGrow(found: readonly Step[], problem: JsonProblem): boolean {
  const growth = found.reduce((product, step) => product * growthOf(step), 1);
  if (growth <= MAX_GROWTH) return true;
  problem.expected = `steps that make a text at most ${MAX_GROWTH} times as long`;
  return false;
}

const replacement = fields({ type: oneOf('Replace'), pattern: patternShape, content: shortText(MAX_INSERTED) }, {});
const spacing = fields({ type: oneOf('Metaspace') }, { replacement: nullable(inserted), str_rep: nullable(inserted) });

const MAX_BYTES_OF_CHARACTER = 4;

/** How many characters a character may become at most. */
function growthOf(step: Step): number {
  const space = shaped(spacing, step);
  if (space !== undefined) return Math.max(1, space.str_rep?.length ?? 0, space.replacement?.length ?? 0);
  if (step.type === 'ByteLevel') return MAX_BYTES_OF_CHARACTER;
  if (step.type === 'Precompiled') return MAX_FORM_BYTES;
  const replace = shaped(replacement, step);
  if (replace === undefined) return 1;
  const { content } = replace;
  const { Regex: expression, String: plain } = replace.pattern;
  if (expression === undefined) return Math.max(1, content.length / Math.max(1, plain?.length ?? 0));
  return matchesNothing(expression) ? 1 + content.length : Math.max(1, content.length);
}

/** What a pattern may take on an empty text. */
const MAX_PATTERN_MS = 500;

/** A replacement is then put in next to each character. */
function matchesNothing(expression: string): boolean {
  if (/\(\?[=!<]|\\[bBAzZGK]|[$^]/.test(expression)) return true;
  try {
    return withTimeLimit(MAX_PATTERN_MS, () => new RegExp(expression, 'u').test(''));
  } catch {
    return true;
  }
}

const limits = fields(
  {},
  {
    normalizer: areSteps,
    pre_tokenizer: areSteps,
    post_processor: areSteps,
  },
);

/** All added tokens together; they become a tree. */
const MAX_ADDED_CHARACTERS = 1_000_000;

/** @throws ModelFolderError for too many steps or added tokens. */
function requireLimits(json: AnyTokenizerJson): void {
  requireShape(limits, json, TOKENIZER_FILE);
  const added = json.added_tokens?.reduce((sum, { content }) => sum + content.length, 0) ?? 0;
  if (added <= MAX_ADDED_CHARACTERS) return;
  const reason = `has ${added} characters in all; at most ${MAX_ADDED_CHARACTERS} are read`;
  throw new ModelFolderError(TOKENIZER_FILE, `added_tokens: ${reason}`);
}

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

/** Loaded on first use: most models have a tokenizer of BERT's kind. */
function loadPackage(): typeof import('@huggingface/tokenizers') {
  return requireFor('@huggingface/tokenizers')('@huggingface/tokenizers');
}

/** @param unknown the part of the file that we don't know. @throws ModelFolderError */
function createFallbackTokenizer(json: AnyTokenizerJson, config: SpecialTokenNames, unknown: string): Tokenizer {
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
  const reason = messageOf(cause);
  return new ModelFolderError(TOKENIZER_FILE, `${what}: ${reason}`, { cause });
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
  const { vocab } = requireShape(modelShape, json.model, TOKENIZER_FILE, 'model');
  requirePiecesFit(shaped(listedPieces, vocab) ?? [], TOKENIZER_FILE);
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
