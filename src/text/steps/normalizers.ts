import { ModelFolderError } from '../../contract/index.js';
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
import type { BertNormalization } from '../word-piece-tokenizer.js';
import {
  type AlignedText,
  compiledPattern,
  filtered,
  mapped,
  matchesOf,
  patternShape,
  prepended,
  Rewriting,
} from './aligned-text.js';
import { readBertNormalization } from './bert-normalization.js';

/** SentencePiece's `precompiled_charsmap`, applied as the Rust `tokenizers` package does. */

/** A longer group is looked up character by character, as in the Rust package. */
const MAX_GROUP_BYTES = 5;

/** The longest compatible form of Unicode has 33 bytes in UTF-8. */
export const MAX_FORM_BYTES = 64;

const PLAIN = 1;
const REWRITTEN = 2;

const NUL = 0;

/** Units of the Darts double array (Yata 2008): label, distance to the children, whether a value ends here. */
const VALUE_BITS = 0x7fffffff;
const HAS_VALUE = 1 << 8;
const LABEL_BITS = 0x800000ff | 0;
const IS_FAR = 1 << 9;

class CharacterMap {
  readonly #units: Int32Array;
  /** UTF-8, each ended by a NUL. */
  readonly #forms: Buffer;
  /** By group of characters; undefined if it stays. */
  readonly #known = new Map<string, string | undefined>();
  /** By ASCII character: 0 unknown, {@link PLAIN} or {@link REWRITTEN}. */
  readonly #plain = new Uint8Array(0x80);
  #groups: Intl.Segmenter | undefined;

  /** @throws ModelFolderError */
  constructor(base64: string, file: string) {
    const bytes = Buffer.from(base64, 'base64');
    const size = bytes.length >= 4 ? bytes.readUInt32LE(0) : 0;
    if (size < 4 || size % 4 !== 0 || size + 4 > bytes.length) {
      throw new ModelFolderError(file, 'normalizer.precompiled_charsmap: not a table of SentencePiece');
    }
    this.#units = Int32Array.from({ length: size / 4 }, (_, unit) => bytes.readInt32LE(4 + 4 * unit));
    this.#forms = bytes.subarray(4 + size);
    if (longestForm(this.#forms) > MAX_FORM_BYTES) {
      const reason = `it makes more than ${MAX_FORM_BYTES} bytes of a character`;
      throw new ModelFolderError(file, `normalizer.precompiled_charsmap: ${reason}`);
    }
  }

  /** First a whole grapheme cluster, then its characters. */
  apply(text: AlignedText): AlignedText {
    if (text.characters.every((character) => this.#isPlain(character))) return text;
    const rewriting = new Rewriting(text);
    let isFirst = true;
    for (const group of this.#groupsOf(text)) {
      const form = this.#form(group);
      const characters = group.length === 1 ? [group] : Array.from(group);
      if (form !== undefined && Buffer.byteLength(group) <= MAX_GROUP_BYTES) {
        rewrite(rewriting, characters.length, form, isFirst);
        isFirst &&= form === '';
        continue;
      }
      for (const character of characters) {
        const own = characters.length === 1 ? form : this.#form(character);
        if (own === undefined) rewriting.replace(character);
        else rewrite(rewriting, 1, own, isFirst);
        isFirst &&= own === '';
      }
    }
    return rewriting.result();
  }

  #isPlain(character: string): boolean {
    if (character >= '\u0080' || character === '\r') return false;
    this.#plain[character.charCodeAt(0)] ||= this.#form(character) === undefined ? PLAIN : REWRITTEN;
    return this.#plain[character.charCodeAt(0)] === PLAIN;
  }

  /** Extended grapheme clusters (UAX #29). */
  #groupsOf({ characters }: AlignedText): string[] {
    this.#groups ??= new Intl.Segmenter('und', { granularity: 'grapheme' });
    const groups: string[] = [];
    let run = '';
    for (const [index, character] of characters.entries()) {
      const next = characters[index + 1];
      const isBoundary = next === undefined || (standsAlone(character) && standsAlone(next));
      run += character;
      if (!isBoundary) continue;
      if (run === character) groups.push(character);
      else for (const { segment } of this.#groups.segment(run)) groups.push(segment);
      run = '';
    }
    return groups;
  }

  #form(group: string): string | undefined {
    if (this.#known.has(group)) return this.#known.get(group);
    const form = this.#lookUp(Buffer.from(group));
    if (this.#known.size >= MAX_KNOWN_FORMS) this.#known.clear();
    this.#known.set(group, form);
    return form;
  }

  /** What the shortest beginning in the table becomes. */
  #lookUp(bytes: Uint8Array): string | undefined {
    const units = this.#units;
    let node = childrenOf(0, units[0] ?? 0);
    for (const byte of bytes) {
      if (byte === NUL) return undefined;
      node ^= byte;
      const unit = units[node] ?? 0;
      if ((unit & LABEL_BITS) !== byte) return undefined;
      node = childrenOf(node, unit);
      if ((unit & HAS_VALUE) !== 0) return this.#formAt((units[node] ?? 0) & VALUE_BITS);
    }
    return undefined;
  }

  #formAt(start: number): string {
    const end = this.#forms.indexOf(NUL, start);
    return this.#forms.toString('utf8', start, end === -1 ? undefined : end);
  }
}

function longestForm(forms: Buffer): number {
  let longest = 0;
  for (let start = 0; start < forms.length; ) {
    const nul = forms.indexOf(NUL, start);
    const end = nul === -1 ? forms.length : nul;
    longest = Math.max(longest, end - start);
    start = end + 1;
  }
  return longest;
}

/** ASCII, kana, ideographs and Korean syllables: two of them are never one group. */
function standsAlone(character: string): boolean {
  if (character < '\u0080') return character !== '\r' && character !== '\n';
  if (character < '\u3041') return false;
  return (
    (character >= '\u309b' && character <= '\u9fff') ||
    character <= '\u3096' ||
    (character >= '\uac00' && character <= '\ud7a3')
  );
}

const MAX_KNOWN_FORMS = 1 << 14;

function childrenOf(node: number, unit: number): number {
  return node ^ ((unit >>> 10) << ((unit & IS_FAR) >>> 6));
}

/** @param count characters that become `form`. @param isFirst nothing stands before them. */
function rewrite(rewriting: Rewriting, count: number, form: string, isFirst: boolean): void {
  const characters = Array.from(form);
  const added = Math.max(0, characters.length - count);
  for (const [index, character] of characters.entries()) {
    if (index < characters.length - added) rewriting.replace(character);
    else rewriting.insert(character);
  }
  const removed = Math.max(0, count - characters.length);
  if (removed === 0) return;
  if (isFirst && characters.length === 0) rewriting.skip(removed);
  else rewriting.mergeIntoLast(removed);
}

/** UAX #15 with the places of all characters. Order and composition follow the Rust crate, so places are equal, too. */

type CanonicalForm = 'NFC' | 'NFD' | 'NFKC' | 'NFKD';

interface Part {
  readonly character: string;
  /** 0 for one that a decomposition added. */
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
  /** Where marks begin that may still change their order. */
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

/** Equal marks keep their order. */
function sortMarks(parts: Part[], from: number): void {
  if (parts.length - from < 2) return;
  const sorted = parts.splice(from).sort((a, b) => order(a.character, b.character));
  for (const part of sorted) parts.push(part);
}

function order(a: string, b: string): number {
  if (comesAfter(a, b)) return 1;
  return comesAfter(b, a) ? -1 : 0;
}

/** Compares combining classes. */
function comesAfter(a: string, b: string): boolean {
  return (a + b).normalize('NFD') !== a + b;
}

/** Marks of the lowest class above 0 and of the highest one. */
const LOWEST_CLASS = '\u0334';
const HIGHEST_CLASS = '\u0345';

const starters = new Map<string, boolean>();
const MAX_KNOWN_STARTERS = 1 << 14;

/** Whether its combining class is 0. */
function isStarter(character: string): boolean {
  if (character < '\u0300') return true;
  const known = starters.get(character);
  if (known !== undefined) return known;
  const isOrdered = !unorderedMarks.has(character.codePointAt(0) ?? 0);
  const isMark = isOrdered && (comesAfter(character, LOWEST_CLASS) || comesAfter(HIGHEST_CLASS, character));
  if (starters.size >= MAX_KNOWN_STARTERS) starters.clear();
  starters.set(character, !isMark);
  return !isMark;
}

/** UAX #15, D117: a mark of the same or a higher class keeps another from its starter. */
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

export type Normalizer = (text: AlignedText) => AlignedText;

/** UTF-16 code units. */
export const MAX_INSERTED = 64;
type Maker = (part: unknown, file: string) => Normalizer;

function of<Fields>(shape: JsonShape<Fields>, make: (fields: Fields, file: string) => Normalizer): Maker {
  return (part, file) => make(requireShape(shape, part, file, 'normalizer'), file);
}

const inOrder =
  (steps: readonly Normalizer[]): Normalizer =>
  (source) =>
    steps.reduce((result, step) => step(result), source);

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
  ['BertNormalizer', (part, file) => bert(readBertNormalization(part, file))],
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

/** @throws UnknownPartError for an unknown type. @throws ModelFolderError for wrong fields. */
export function makeNormalizer(part: unknown, file: string): Normalizer {
  if (part === null || part === undefined) return (source) => source;
  const { type } = requireShape(fields({ type: text }, {}), part, file, 'normalizer');
  const make = makers.get(type);
  if (make === undefined) throw new UnknownPartError(`the normalizer ${type}`);
  return make(part, file);
}

/** Character by character: JavaScript, unlike Rust, would make a last Σ a ς. */
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

function bert({ cleanText, handleChineseCharacters, stripAccents, lowercase }: BertNormalization): Normalizer {
  const steps: Normalizer[] = [];
  if (cleanText) steps.push(cleaned);
  if (handleChineseCharacters) steps.push(withSpacesAroundIdeographs);
  if (stripAccents) {
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

/** SentencePiece's rules for translation: characters that vanish, and those that become spaces. */
const nmtDeleted = codePointSet('1-8 b e-1f 7f 8f 9f');
const nmtSpaces = codePointSet('9-a c-d 1680 200b-200f 2028-2029 2581 feff fffd');

const nmt: Normalizer = (source) =>
  mapped(
    filtered(source, (character) => !nmtDeleted.has(codeOf(character))),
    (character) => (nmtSpaces.has(codeOf(character)) ? ' ' : character),
  );
