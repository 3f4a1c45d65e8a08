/** The normalisers of tokenizer.json as functions that keep track of places. */
import {
  fields,
  filledText,
  flag,
  listOf,
  nullable,
  object,
  requireShape,
  shortText,
  text,
} from '../../json-shape.js';
import {
  codePointSet,
  combiningMarks,
  deletedCharacters,
  ideographs,
  isWhitespace,
  nonspacingMarks,
} from '../character-classes.js';
import { UnknownPartError } from '../tokenizer-json.js';
import { type AlignedText, filtered, mapped, prepended, Rewriting } from './aligned-text.js';
import { canonicalForm } from './canonical-forms.js';
import { CharacterMap } from './character-map.js';
import { compiledPattern, matchesOf, patternShape } from './patterns.js';

export type Normalizer = (text: AlignedText) => AlignedText;

/** What a part of the file is, and its fields. */
export interface JsonPart {
  readonly type?: string;
}

/** UTF-16 code units that a step puts into a text at once. */
export const MAX_INSERTED = 64;
const bertShape = fields(
  {},
  { clean_text: flag, handle_chinese_chars: flag, strip_accents: nullable(flag), lowercase: flag },
);
const replaceShape = fields({ pattern: patternShape, content: shortText(MAX_INSERTED) }, {});
const stripShape = fields({ strip_left: flag, strip_right: flag }, {});
const prependShape = fields({ prepend: shortText(MAX_INSERTED) }, {});
const mapShape = fields({ precompiled_charsmap: filledText }, {});
const emptyMapShape = fields({ precompiled_charsmap: nullable(text) }, {});
const listShape = fields({ normalizers: listOf(object) }, {});
const typeShape = fields({ type: text }, {});

/** Makes a normaliser of its part of the file. */
type Maker = (part: unknown, file: string) => Normalizer;

const makers: ReadonlyMap<string, Maker> = new Map<string, Maker>([
  ['NFC', () => (source) => canonicalForm(source, 'NFC')],
  ['NFD', () => (source) => canonicalForm(source, 'NFD')],
  ['NFKC', () => (source) => canonicalForm(source, 'NFKC')],
  ['NFKD', () => (source) => canonicalForm(source, 'NFKD')],
  ['Lowercase', () => lowercased],
  ['StripAccents', () => (source) => filtered(source, (character) => !combiningMarks.has(codeOf(character)))],
  ['Nmt', () => nmt],
  ['BertNormalizer', (part, file) => bert(requireShape(bertShape, part, file, 'normalizer'))],
  ['Replace', (part, file) => replacing(requireShape(replaceShape, part, file, 'normalizer'))],
  ['Strip', (part, file) => stripping(requireShape(stripShape, part, file, 'normalizer'))],
  [
    'Prepend',
    (part, file) => {
      const { prepend } = requireShape(prependShape, part, file, 'normalizer');
      return (source) => prepended(source, prepend);
    },
  ],
  ['Precompiled', precompiled],
  [
    'Sequence',
    (part, file) => {
      const steps = requireShape(listShape, part, file, 'normalizer').normalizers.map((step) =>
        makeNormalizer(step, file),
      );
      return (source) => steps.reduce((result, step) => step(result), source);
    },
  ],
]);

/** @throws UnknownPartError for a type that isn't in the table. @throws ModelFolderError for wrong fields. */
export function makeNormalizer(part: unknown, file: string): Normalizer {
  if (part === null || part === undefined) return (source) => source;
  const { type } = requireShape(typeShape, part, file, 'normalizer');
  const make = makers.get(type);
  if (make === undefined) throw new UnknownPartError(`the normaliser ${type}`);
  return make(part, file);
}

/** Character by character: in a whole word JavaScript, unlike Rust, would make the last Σ a ς. */
const lowercased: Normalizer = (source) =>
  mapped(source, (character) => (character < '\u0080' ? lowerAscii(character) : character.toLowerCase()));

const lowerAscii = (character: string): string =>
  character >= 'A' && character <= 'Z' ? String.fromCharCode(character.charCodeAt(0) + 32) : character;

const codeOf = (character: string): number => character.codePointAt(0) ?? 0;

function precompiled(part: unknown, file: string): Normalizer {
  // An empty table changes nothing.
  if (!requireShape(emptyMapShape, part, file, 'normalizer').precompiled_charsmap) return (source) => source;
  const map = new CharacterMap(requireShape(mapShape, part, file, 'normalizer').precompiled_charsmap, file);
  return (source) => map.apply(source);
}

function replacing({
  pattern,
  content,
}: {
  pattern: Parameters<typeof compiledPattern>[0];
  content: string;
}): Normalizer {
  const compiled = compiledPattern(pattern);
  return (source) => {
    const found = matchesOf(source, compiled);
    if (found.length === 0) return source;
    const rewriting = new Rewriting(source);
    let done = 0;
    for (const { from, to } of found) {
      rewriting.keep(from - done);
      rewriting.skip(to - from);
      for (const character of content) rewriting.insert(character);
      done = to;
    }
    rewriting.keep(source.length - done);
    return rewriting.result();
  };
}

function stripping({ strip_left, strip_right }: { strip_left: boolean; strip_right: boolean }): Normalizer {
  return (source) => {
    const { characters } = source;
    let from = 0;
    let to = characters.length;
    if (strip_left) while (from < to && isWhitespace(characters[from] ?? '')) from += 1;
    if (strip_right) while (to > from && isWhitespace(characters[to - 1] ?? '')) to -= 1;
    if (from === 0 && to === characters.length) return source;
    const rewriting = new Rewriting(source);
    rewriting.skip(from);
    rewriting.keep(to - from);
    return rewriting.result();
  };
}

interface BertOptions {
  readonly clean_text?: boolean;
  readonly handle_chinese_chars?: boolean;
  readonly strip_accents?: boolean | null;
  readonly lowercase?: boolean;
}

function bert({
  clean_text = true,
  handle_chinese_chars = true,
  strip_accents,
  lowercase = true,
}: BertOptions): Normalizer {
  const steps: Normalizer[] = [];
  if (clean_text) steps.push(cleaned);
  if (handle_chinese_chars) steps.push(withSpacesAroundIdeographs);
  if (strip_accents ?? lowercase) {
    steps.push((source) =>
      filtered(canonicalForm(source, 'NFD'), (character) => !nonspacingMarks.has(codeOf(character))),
    );
  }
  if (lowercase) steps.push(lowercased);
  return (source) => steps.reduce((result, step) => step(result), source);
}

const cleaned: Normalizer = (source) =>
  mapped(
    filtered(source, (character) => !deletedCharacters.has(codeOf(character))),
    (character) => (isWhitespace(character) ? ' ' : character),
  );

function withSpacesAroundIdeographs(source: AlignedText): AlignedText {
  return mapped(source, (character) => (ideographs.has(codeOf(character)) ? ` ${character} ` : character));
}

/** Of SentencePiece's rules for translation: characters that vanish, and such that become spaces. */
const nmtDeleted = codePointSet('1-8 b e-1f 7f 8f 9f');
const nmtSpaces = codePointSet('9-a c-d 1680 200b-200f 2028-2029 2581 feff fffd');

const nmt: Normalizer = (source) =>
  mapped(
    filtered(source, (character) => !nmtDeleted.has(codeOf(character))),
    (character) => (nmtSpaces.has(codeOf(character)) ? ' ' : character),
  );
