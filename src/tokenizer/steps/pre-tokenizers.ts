/** The pre-tokenizers of tokenizer.json, which split a text into the words that a model reads. */
import {
  fields,
  flag,
  listOf,
  nullable,
  object,
  oneOf,
  requireShape,
  shortText,
  text,
} from '../../json-shape.js';
import { isWhitespace, punctuation } from '../character-classes.js';
import { type AlignedText, mapped, prepended } from './aligned-text.js';
import { asBytes, GPT2_WORDS } from './byte-level.js';
import { charactersThat, compiledPattern, matchesOf, patternShape } from './patterns.js';
import { type SplitBehavior, splitAt } from './splitting.js';
import { UnknownPartError } from './unknown-part.js';

/** Splits a text; parts without characters are left out. */
export type PreTokenizer = (text: AlignedText) => readonly AlignedText[];

const behaviors = oneOf('Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous');
const typeShape = fields({ type: text }, {});
const listShape = fields({ pretokenizers: listOf(object) }, {});
const byteLevelShape = fields({}, { add_prefix_space: flag, use_regex: flag });
const metaspaceShape = fields(
  {},
  {
    replacement: nullable(shortText(1)),
    prepend_scheme: oneOf('always', 'first', 'never'),
    add_prefix_space: nullable(flag),
    split: nullable(flag),
  },
);
const punctuationShape = fields({}, { behavior: behaviors });
const digitsShape = fields({}, { individual_digits: flag });
const splitShape = fields({ pattern: patternShape, behavior: behaviors }, { invert: flag });

type Maker = (part: unknown, file: string) => PreTokenizer;

const makers: ReadonlyMap<string, Maker> = new Map<string, Maker>([
  ['BertPreTokenizer', () => bertWords],
  ['WhitespaceSplit', () => (source) => splitAt(source, charactersThat(source, isWhitespace), 'Removed')],
  ['Whitespace', () => (source) => splitAt(source, matchesOf(source, WORDS), 'Removed', true)],
  ['ByteLevel', (part, file) => byteLevel(requireShape(byteLevelShape, part, file, 'pre_tokenizer'))],
  ['Metaspace', (part, file) => metaspace(requireShape(metaspaceShape, part, file, 'pre_tokenizer'))],
  [
    'Punctuation',
    (part, file) => {
      const { behavior = 'Isolated' } = requireShape(punctuationShape, part, file, 'pre_tokenizer');
      return (source) => splitAt(source, charactersThat(source, isPunctuation), behavior);
    },
  ],
  [
    'Digits',
    (part, file) => {
      const { individual_digits } = requireShape(digitsShape, part, file, 'pre_tokenizer');
      const behavior: SplitBehavior = individual_digits === true ? 'Isolated' : 'Contiguous';
      return (source) => splitAt(source, charactersThat(source, isNumeric), behavior);
    },
  ],
  [
    'Split',
    (part, file) => {
      const { pattern, behavior, invert = false } = requireShape(splitShape, part, file, 'pre_tokenizer');
      const compiled = compiledPattern(pattern);
      return (source) => splitAt(source, matchesOf(source, compiled), behavior, invert);
    },
  ],
  [
    'Sequence',
    (part, file) => {
      const steps = requireShape(listShape, part, file, 'pre_tokenizer').pretokenizers.map((step) =>
        makePreTokenizer(step, file),
      );
      return (source) => steps.reduce<readonly AlignedText[]>((words, step) => words.flatMap(step), [source]);
    },
  ],
]);

/** @throws UnknownPartError for a type that isn't in the table. @throws ModelFolderError for wrong fields. */
export function makePreTokenizer(part: unknown, file: string): PreTokenizer {
  if (part === null || part === undefined) return (source) => [source];
  const { type } = requireShape(typeShape, part, file, 'pre_tokenizer');
  const make = makers.get(type);
  if (make === undefined) throw new UnknownPartError(`the pre-tokenizer ${type}`);
  return make(part, file);
}

/** Letters, marks, digits and connectors of any script, or runs of what is neither those nor white space. */
const WORDS =
  /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}\p{White_Space}]+/gu;

const codeOf = (character: string): number => character.codePointAt(0) ?? 0;
const isPunctuation = (character: string): boolean => punctuation.has(codeOf(character));
const isNumeric = (character: string): boolean => /^\p{N}$/u.test(character);

function bertWords(source: AlignedText): AlignedText[] {
  return splitAt(source, charactersThat(source, isWhitespace), 'Removed').flatMap((word) =>
    splitAt(word, charactersThat(word, isPunctuation), 'Isolated'),
  );
}

function byteLevel({
  add_prefix_space = true,
  use_regex = true,
}: {
  add_prefix_space?: boolean;
  use_regex?: boolean;
}): PreTokenizer {
  return (source) => {
    const whole = add_prefix_space && source.characters[0] !== ' ' ? prepended(source, ' ') : source;
    const words = use_regex ? splitAt(whole, matchesOf(whole, GPT2_WORDS), 'Isolated') : [whole];
    return words.map(asBytes);
  };
}

interface MetaspaceFields {
  readonly replacement?: string | null;
  readonly prepend_scheme?: 'always' | 'first' | 'never';
  /** Of older files; false: `never`. */
  readonly add_prefix_space?: boolean | null;
  readonly split?: boolean | null;
}

function metaspace({
  replacement,
  prepend_scheme = 'always',
  add_prefix_space,
  split,
}: MetaspaceFields): PreTokenizer {
  const mark = replacement ?? '▁';
  const scheme = add_prefix_space === false ? 'never' : prepend_scheme;
  return (source) => {
    const marked = source.characters.includes(' ')
      ? mapped(source, (character) => (character === ' ' ? mark : character))
      : source;
    const needsMark = scheme === 'always' || (scheme === 'first' && source.origin === 0);
    const whole = needsMark && marked.characters[0] !== mark ? prepended(marked, mark) : marked;
    if (split === false) return [whole];
    return splitAt(
      whole,
      charactersThat(whole, (character) => character === mark),
      'MergedWithNext',
    );
  };
}
