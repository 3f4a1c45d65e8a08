/** The normalisers of tokenizer.json as functions that keep track of places. */
import {
  fields,
  flag,
  type JsonShape,
  listOf,
  nullable,
  object,
  requireShape,
  type Shaped,
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

/** UTF-16 code units that a step puts into a text at once. */
export const MAX_INSERTED = 64;
/** Makes a normaliser of its part of the file. */
type Maker = (part: unknown, file: string) => Normalizer;

/** A maker of parts that have these fields. */
function of<Fields>(shape: JsonShape<Fields>, make: (fields: Fields, file: string) => Normalizer): Maker {
  return (part, file) => make(requireShape(shape, part, file, 'normalizer'), file);
}

const inOrder =
  (steps: readonly Normalizer[]): Normalizer =>
  (source) =>
    steps.reduce((result, step) => step(result), source);

const bertShape = fields(
  {},
  { clean_text: flag, handle_chinese_chars: flag, strip_accents: nullable(flag), lowercase: flag },
);
const replaceShape = fields({ pattern: patternShape, content: shortText(MAX_INSERTED) }, {});
const stripShape = fields({ strip_left: flag, strip_right: flag }, {});

const makers: ReadonlyMap<string, Maker> = new Map<string, Maker>([
  ['NFC', () => (source) => canonicalForm(source, 'NFC')],
  ['NFD', () => (source) => canonicalForm(source, 'NFD')],
  ['NFKC', () => (source) => canonicalForm(source, 'NFKC')],
  ['NFKD', () => (source) => canonicalForm(source, 'NFKD')],
  ['Lowercase', () => lowercased],
  ['StripAccents', () => (source) => filtered(source, (character) => !combiningMarks.has(codeOf(character)))],
  ['Nmt', () => nmt],
  ['BertNormalizer', of(bertShape, bert)],
  ['Replace', of(replaceShape, replacing)],
  ['Strip', of(stripShape, stripping)],
  [
    'Prepend',
    of(
      fields({ prepend: shortText(MAX_INSERTED) }, {}),
      ({ prepend }) =>
        (source) =>
          prepended(source, prepend),
    ),
  ],
  ['Precompiled', of(fields({ precompiled_charsmap: nullable(text) }, {}), precompiled)],
  [
    'Sequence',
    of(fields({ normalizers: listOf(object) }, {}), ({ normalizers }, file) =>
      inOrder(normalizers.map((step) => makeNormalizer(step, file))),
    ),
  ],
]);

/** @throws UnknownPartError for a type that isn't in the table. @throws ModelFolderError for wrong fields. */
export function makeNormalizer(part: unknown, file: string): Normalizer {
  if (part === null || part === undefined) return (source) => source;
  const { type } = requireShape(fields({ type: text }, {}), part, file, 'normalizer');
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

function precompiled(
  { precompiled_charsmap: table }: { readonly precompiled_charsmap: string | null },
  file: string,
): Normalizer {
  // An empty table changes nothing.
  if (!table) return (source) => source;
  const map = new CharacterMap(table, file);
  return (source) => map.apply(source);
}

function replacing({ pattern, content }: Shaped<typeof replaceShape>): Normalizer {
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

function stripping({ strip_left, strip_right }: Shaped<typeof stripShape>): Normalizer {
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

function bert({
  clean_text = true,
  handle_chinese_chars = true,
  strip_accents,
  lowercase = true,
}: Shaped<typeof bertShape>): Normalizer {
  const steps: Normalizer[] = [];
  if (clean_text) steps.push(cleaned);
  if (handle_chinese_chars) steps.push(withSpacesAroundIdeographs);
  if (strip_accents ?? lowercase) {
    steps.push((source) =>
      filtered(canonicalForm(source, 'NFD'), (character) => !nonspacingMarks.has(codeOf(character))),
    );
  }
  if (lowercase) steps.push(lowercased);
  return inOrder(steps);
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
