import { ModelFolderError } from '../contract/index.js';
import {
  fields,
  type JsonProblem,
  type JsonShape,
  listOf,
  nullable,
  object,
  oneOf,
  requireShape,
  type Shaped,
  shaped,
  shortText,
  whole,
} from '../system/index.js';
import { createFallbackTokenizer, withTimeLimit } from './fallback-tokenizer.js';
import { createPipelineTokenizer } from './pipeline-tokenizer.js';
import { readTemplates } from './post-processors.js';
import { MAX_PATTERN } from './steps/aligned-text.js';
import { MAX_FORM_BYTES, MAX_INSERTED, readBertNormalization } from './steps/normalizers.js';
import { readWordPieces } from './steps/piece-models.js';
import type { Tokenizer } from './tokenizer.js';
import {
  type AnyTokenizerJson,
  anyTokenizerJsonShape,
  specialTokenNamesShape,
  templatesShape,
  UnknownPartError,
} from './tokenizer-json.js';
import { createWordPieceTokenizer } from './word-piece-tokenizer.js';

const TOKENIZER_FILE = 'tokenizer.json';

/** A single pass for BERT's kind, else step by step, or @huggingface/tokenizers, without offsets, for unknown steps. */
export function loadTokenizer(tokenizerJson: unknown, config: unknown = {}): Tokenizer {
  const names = requireShape(specialTokenNamesShape, config, 'tokenizer_config.json');
  const json = requireShape(anyTokenizerJsonShape, tokenizerJson, TOKENIZER_FILE);
  if (isBertStyle(json)) {
    return createWordPieceTokenizer({
      ...readWordPieces(json.model, TOKENIZER_FILE),
      normalization: readBertNormalization(json.normalizer, TOKENIZER_FILE),
      templates: readTemplates(json.post_processor, TOKENIZER_FILE),
      addedTokens: json.added_tokens ?? [],
      names,
    });
  }
  requireLimits(json);
  try {
    return createPipelineTokenizer(json, names, TOKENIZER_FILE);
  } catch (thrown) {
    if (!(thrown instanceof UnknownPartError)) throw thrown;
    return createFallbackTokenizer(json, names, thrown.part);
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

/** Steps within steps; two are usual. */
const MAX_DEPTH = 8;
/** Of one part; Moses' rules for punctuation are some 40. */
const MAX_STEPS = 128;
/** Of a normalised text by its text; NFKC of one character has up to 18. */
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

function stepsShape(field: string): JsonShape<object | null> {
  return (value, problem): value is object | null => {
    const found: Step[] = [];
    return value === null || (gather(value, problem, found, 1) && doesNotGrow(found, field, problem));
  };
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

function doesNotGrow(found: readonly Step[], field: string, problem: JsonProblem): boolean {
  const growth = found.reduce((product, step) => product * growthOf(step), 1);
  if (growth <= MAX_GROWTH) return true;
  problem.expected = `steps that make a text at most ${MAX_GROWTH} times as long, as a ${field} of any use does`;
  return false;
}

const replacement = fields({ type: oneOf('Replace'), pattern: patternShape, content: shortText(MAX_INSERTED) }, {});
const spacing = fields({ type: oneOf('Metaspace') }, { replacement: nullable(inserted), str_rep: nullable(inserted) });

/** Of UTF-8. */
const MAX_BYTES_OF_CHARACTER = 4;

/** At most. */
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

/** On an empty text. */
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
    normalizer: stepsShape('normalizer'),
    pre_tokenizer: stepsShape('pre_tokenizer'),
    post_processor: stepsShape('post_processor'),
  },
);

/** Of all added tokens, which become a tree. */
const MAX_ADDED_CHARACTERS = 1_000_000;

/** @throws ModelFolderError for too many steps or added tokens. */
function requireLimits(json: AnyTokenizerJson): void {
  requireShape(limits, json, TOKENIZER_FILE);
  const added = json.added_tokens?.reduce((sum, { content }) => sum + content.length, 0) ?? 0;
  if (added <= MAX_ADDED_CHARACTERS) return;
  const reason = `has ${added} characters in all; at most ${MAX_ADDED_CHARACTERS} are read`;
  throw new ModelFolderError(TOKENIZER_FILE, `added_tokens: ${reason}`);
}
