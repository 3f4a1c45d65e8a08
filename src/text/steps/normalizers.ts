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
} from '../../system/index.js';
import {
  codePointSet,
  combiningMarks,
  deletedCharacters,
  ideographs,
  isWhitespace,
  nonspacingMarks,
  undecomposed,
  unorderedMarks,
} from '../character-classes.js';
import { UnknownPartError } from '../tokenizer-json.js';
import { type AlignedText, filtered, mapped, prepended, Rewriting } from './aligned-text.js';
import { CharacterMap } from './character-map.js';
import { compiledPattern, matchesOf, patternShape } from './patterns.js';

/**
 * The normalisation forms of Unicode (UAX #15) with the places of all characters. The runtime decomposes and composes
 * single characters; their order and what composes with what follow the Rust crate that `tokenizers` uses, so that the
 * places are equal, too.
 */

type CanonicalForm = 'NFC' | 'NFD' | 'NFKC' | 'NFKD';

/** A character on its way to its form. */
interface Part {
  readonly character: string;
  /** Characters of the text that it replaces; 0 for one that a decomposition added. */
  readonly replaces: number;
}

function canonicalForm(text: AlignedText, form: CanonicalForm): AlignedText {
  if (text.characters.every(isAscii)) return text;
  const decomposed = decompose(text.characters, form === 'NFKC' || form === 'NFKD' ? 'NFKD' : 'NFD');
  const parts = form === 'NFC' || form === 'NFKC' ? compose(decomposed) : decomposed;
  const rewriting = new Rewriting(text);
  for (const { character, replaces } of parts) {
    if (replaces > 0) rewriting.replace(character, replaces);
    else rewriting.insert(character);
  }
  return rewriting.result();
}

const isAscii = (character: string): boolean => character < '\u0080';

function decompose(characters: readonly string[], form: 'NFD' | 'NFKD'): Part[] {
  const parts: Part[] = [];
  /** Where the marks begin that may still change their order. */
  let marks = 0;
  for (const character of characters) {
    let replaces = 1;
    for (const piece of decomposition(character, form)) {
      if (isStarter(piece)) {
        sortMarks(parts, marks);
        marks = parts.length + 1;
      }
      parts.push({ character: piece, replaces });
      replaces = 0;
    }
  }
  sortMarks(parts, marks);
  return parts;
}

function decomposition(character: string, form: 'NFD' | 'NFKD'): string {
  if (isAscii(character) || undecomposed.has(character.codePointAt(0) ?? 0)) return character;
  return character.normalize(form);
}

/** Brings the marks from `from` on into canonical order; equal ones keep theirs. */
function sortMarks(parts: Part[], from: number): void {
  if (parts.length - from < 2) return;
  const sorted = parts.splice(from).sort((a, b) => order(a.character, b.character));
  for (const part of sorted) parts.push(part);
}

function order(a: string, b: string): number {
  if (comesAfter(a, b)) return 1;
  return comesAfter(b, a) ? -1 : 0;
}

/** Whether the combining class of one mark is higher than that of another. */
function comesAfter(a: string, b: string): boolean {
  return (a + b).normalize('NFD') !== a + b;
}

/** Marks of the lowest class above 0 and of the highest one. */
const LOWEST_CLASS = '\u0334';
const HIGHEST_CLASS = '\u0345';

const starters = new Map<string, boolean>();
const MAX_REMEMBERED = 1 << 14;

/** Whether the combining class of a decomposed character is 0. */
function isStarter(character: string): boolean {
  if (character < '\u0300') return true;
  const known = starters.get(character);
  if (known !== undefined) return known;
  const isOrdered = !unorderedMarks.has(character.codePointAt(0) ?? 0);
  const isMark = isOrdered && (comesAfter(character, LOWEST_CLASS) || comesAfter(HIGHEST_CLASS, character));
  if (starters.size >= MAX_REMEMBERED) starters.clear();
  starters.set(character, !isMark);
  return !isMark;
}

/** Composes what can be (UAX #15, D117): a mark is kept from its starter by one of the same or a higher class. */
function compose(parts: readonly Part[]): Part[] {
  const composed: Part[] = [];
  let starter: Part | undefined;
  let marks: Part[] = [];
  const release = (): void => {
    if (starter !== undefined) composed.push(starter);
    for (const mark of marks) composed.push(mark);
    marks = [];
  };
  for (const part of parts) {
    const isMark = !isStarter(part.character);
    if (starter === undefined) {
      if (isMark) composed.push(part);
      else starter = part;
      continue;
    }
    const both: Part | undefined = isKept(marks.at(-1), part, isMark) ? undefined : joined(starter, part);
    if (both !== undefined) {
      starter = both;
    } else if (isMark) {
      marks.push(part);
    } else {
      release();
      starter = part;
    }
  }
  release();
  return composed;
}

function isKept(last: Part | undefined, part: Part, isMark: boolean): boolean {
  return last !== undefined && !(isMark && comesAfter(part.character, last.character));
}

function joined(starter: Part, part: Part): Part | undefined {
  if (isAscii(part.character)) return undefined;
  const character = (starter.character + part.character).normalize('NFC');
  const [first = ''] = character;
  if (first !== character || undecomposed.has(first.codePointAt(0) ?? 0)) return undefined;
  return { character, replaces: starter.replaces + part.replaces };
}

/** The normalisers of tokenizer.json as functions that keep track of places. */

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
