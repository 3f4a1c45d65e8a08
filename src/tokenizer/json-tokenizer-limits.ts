/**
 * What a tokenizer.json may ask of @huggingface/tokenizers. The package checks nothing: a step of length 0 never ends,
 * one that repeats a text takes as much memory as it likes, and an id of a billion is a list as long.
 */
import { ModelFolderError } from '../errors.js';
import {
  either,
  fields,
  type JsonProblem,
  type JsonShape,
  listOf,
  nullable,
  number,
  object,
  oneOf,
  pairOf,
  recordOf,
  requireShape,
  type Shaped,
  shaped,
  shortText,
  text,
  whole,
} from '../json-shape.js';
import { MAX_FORM_BYTES } from './steps/character-map.js';
import { MAX_INSERTED } from './steps/normalizers.js';
import { MAX_PATTERN } from './steps/patterns.js';
import { withTimeLimit } from './time-limit.js';
import { type AnyTokenizerJson, idShape, templatesShape } from './tokenizer-json.js';

/** Steps within steps; two are usual. */
const MAX_DEPTH = 8;
/** All steps of a normaliser, pre-tokenizer or post-processor together; Moses' rules for punctuation are some 40. */
const MAX_STEPS = 128;
/** How many times as long as its text a normalised text may become; NFKC of one character has up to 18. */
const MAX_GROWTH = 256;

const inserted = shortText(MAX_INSERTED);
const pattern = shortText(MAX_PATTERN);
const patternShape = fields({}, { Regex: pattern, String: pattern });

/** What a step of each type needs; other types have no field that matters. */
const steps: ReadonlyMap<unknown, JsonShape<object>> = new Map<unknown, JsonShape<object>>([
  ['Replace', fields({ pattern: patternShape }, { content: nullable(inserted) })],
  ['Split', fields({ pattern: patternShape }, {})],
  ['Prepend', fields({ prepend: inserted }, {})],
  ['Metaspace', fields({}, { replacement: nullable(inserted), str_rep: nullable(inserted) })],
  ['FixedLength', fields({ length: whole(1) }, {})],
  ['TemplateProcessing', templatesShape],
]);

/** The lists of steps within a step of the type Sequence. */
const within = fields(
  {},
  {
    normalizers: listOf(object, MAX_STEPS),
    pretokenizers: listOf(object, MAX_STEPS),
    processors: listOf(object, MAX_STEPS),
  },
);

type Step = Readonly<Record<string, unknown>>;

/** A normaliser, pre-tokenizer or post-processor with all that is in it. */
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
  const shape = steps.get(value.type);
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

/** Whether steps that put text in stay within {@link MAX_GROWTH} together. */
function doesNotGrow(found: readonly Step[], field: string, problem: JsonProblem): boolean {
  const growth = found.reduce((product, step) => product * growthOf(step), 1);
  if (growth <= MAX_GROWTH) return true;
  problem.expected = `steps that make a text at most ${MAX_GROWTH} times as long, as a ${field} of any use does`;
  return false;
}

const replacement = fields(
  { type: oneOf('Replace'), pattern: patternShape, content: shortText(MAX_INSERTED) },
  {},
);
const spacing = fields(
  { type: oneOf('Metaspace') },
  { replacement: nullable(inserted), str_rep: nullable(inserted) },
);

/** Of UTF-8: each becomes a character of its own, also when it is one already. */
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

/** What a pattern may take on an empty text, in milliseconds. */
const MAX_PATTERN_MS = 500;

/** Whether a pattern may match between characters, so that its replacement is put in beside each of them. */
function matchesNothing(expression: string): boolean {
  if (/\(\?[=!<]|\\[bBAzZGK]|[$^]/.test(expression)) return true;
  try {
    return withTimeLimit(MAX_PATTERN_MS, () => new RegExp(expression, 'u').test(''));
  } catch {
    return true;
  }
}

const affix = nullable(shortText(MAX_INSERTED));
/** Ids by piece, or pieces with the logarithms of their probabilities. */
const pieces = listOf(pairOf(text, number()));
const vocabulary = either(pieces, recordOf(idShape));
const limits = fields(
  {
    model: fields(
      {},
      {
        vocab: vocabulary,
        continuing_subword_prefix: affix,
        continuing_subword_suffix: affix,
        end_of_word_suffix: affix,
        unk_id: nullable(idShape),
      },
    ),
  },
  {
    normalizer: stepsShape('normalizer'),
    pre_tokenizer: stepsShape('pre_tokenizer'),
    post_processor: stepsShape('post_processor'),
  },
);

/** Characters of all listed pieces, which become a tree: five times those of the largest list on the Hub. */
const MAX_PIECES_CHARACTERS = 8_000_000;
/** Characters of all added tokens, which become another. */
const MAX_ADDED_CHARACTERS = 1_000_000;

/**
 * Checks the parts of a file that the package would take as they are.
 * @throws ModelFolderError
 */
export function requireLimits(json: AnyTokenizerJson, file: string): void {
  const { model } = requireShape(limits, json, file);
  const listed = shaped(pieces, model.vocab)?.reduce((sum, [piece]) => sum + piece.length, 0) ?? 0;
  if (listed > MAX_PIECES_CHARACTERS) throw tooLong(file, 'model.vocab', listed, MAX_PIECES_CHARACTERS);
  const added = json.added_tokens?.reduce((sum, { content }) => sum + content.length, 0) ?? 0;
  if (added > MAX_ADDED_CHARACTERS) throw tooLong(file, 'added_tokens', added, MAX_ADDED_CHARACTERS);
}

function tooLong(file: string, field: string, characters: number, most: number): ModelFolderError {
  return new ModelFolderError(
    file,
    `${field}: has ${characters} characters in all; at most ${most} are read`,
  );
}
