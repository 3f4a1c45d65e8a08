import {
  deletedCharacters,
  ideographs,
  nonspacingMarks,
  punctuation,
  undecomposed,
  whitespace,
} from './character-classes.js';
import { type PieceBuffer, PieceTokenizer, type SpecialTokenTemplates } from './encoding.js';
import { type PieceIds, PieceTrie } from './piece-trie.js';
import { anyOf } from './steps/aligned-text.js';
import type { Tokenizer } from './tokenizer.js';
import type { AddedToken, SpecialTokenNames } from './tokenizer-json.js';

export interface BertNormalization {
  /** Delete control characters and U+FFFD. */
  readonly cleanText: boolean;
  /** Make every ideograph a word. */
  readonly handleChineseCharacters: boolean;
  /** Decompose (NFD) and remove nonspacing marks. */
  readonly stripAccents: boolean;
  readonly lowercase: boolean;
}

/** Of a call; engines allow tens of thousands. */
const MOST_ARGUMENTS = 4096;

/** UNSEEN code units are classified when first met; NEEDS_LOOKUP ones aren't, or don't stay, one character. */
const UNSEEN = 0;
const JOINS = 1;
const ENDS = 2;
const STANDS_ALONE = 3;
const VANISHES = 4;
const NEEDS_LOOKUP = 5;

interface Character {
  readonly role: typeof JOINS | typeof ENDS | typeof STANDS_ALONE | typeof VANISHES;
  readonly form: string;
}

const INITIAL_UNITS = 64;
/** Longer buffers are released at the next text. */
const MAX_KEPT_UNITS = 1 << 14;

/** Replaces a lone surrogate, as the conversion to UTF-8 does. */
const REPLACEMENT = 0xfffd;

/** `read(text)`, then `next()` until it returns false; each overwrites the word in the fields. */
export class WordReader {
  /** Normalized UTF-16 code units; the first `length` are in use. */
  units = new Uint16Array(INITIAL_UNITS);
  /** Where the character of each unit starts and ends in the text, in code units. */
  starts = new Int32Array(INITIAL_UNITS);
  ends = new Int32Array(INITIAL_UNITS);
  length = 0;

  readonly #normalization: BertNormalization;
  /** For each code unit that is a character alone and stays one. */
  readonly #roles = new Uint8Array(0x10000);
  readonly #forms = new Uint16Array(0x10000);
  readonly #characters = new Map<number, Character>();
  #text = '';
  #position = 0;
  #end = 0;

  constructor(normalization: BertNormalization) {
    this.#normalization = normalization;
    this.#roles.fill(NEEDS_LOOKUP, 0xd800, 0xe000);
  }

  read(text: string, start = 0, end = text.length): void {
    if (this.units.length > MAX_KEPT_UNITS) this.#resize(INITIAL_UNITS);
    this.#text = text;
    this.#position = start;
    this.#end = end;
  }

  /** False after the last word. */
  next(): boolean {
    const text = this.#text;
    const end = this.#end;
    const roles = this.#roles;
    const forms = this.#forms;
    let position = this.#position;
    this.length = 0;
    while (position < end) {
      const unit = text.charCodeAt(position);
      const role = roles[unit];
      if (role === JOINS) {
        this.#append(forms[unit] ?? 0, position, position + 1);
        position++;
      } else if (role === ENDS) {
        position++;
        if (this.length > 0) break;
      } else if (role === STANDS_ALONE) {
        if (this.length === 0) {
          this.#append(this.#forms[unit] ?? 0, position, position + 1);
          position++;
        }
        break;
      } else if (role === VANISHES) {
        position++;
      } else if (role === UNSEEN) {
        this.#learn(unit);
      } else {
        const codePoint = text.codePointAt(position) ?? 0;
        const character = this.#characterOf(codePoint);
        if (character.role === STANDS_ALONE && this.length > 0) break;
        const after = position + (codePoint > 0xffff ? 2 : 1);
        for (let i = 0; i < character.form.length; i++) {
          this.#append(character.form.charCodeAt(i), position, after);
        }
        position = after;
        if (character.role === STANDS_ALONE) break;
      }
    }
    this.#position = position;
    return this.length > 0;
  }

  word(): string {
    let word = '';
    for (let at = 0; at < this.length; at += MOST_ARGUMENTS) {
      word += String.fromCharCode(...this.units.subarray(at, Math.min(this.length, at + MOST_ARGUMENTS)));
    }
    return word;
  }

  #append(unit: number, start: number, end: number): void {
    const at = this.length++;
    if (at === this.units.length) this.#resize(2 * at);
    this.units[at] = unit;
    this.starts[at] = start;
    this.ends[at] = end;
  }

  #resize(length: number): void {
    const { units, starts, ends } = this;
    const kept = Math.min(length, units.length);
    this.units = new Uint16Array(length);
    this.units.set(units.subarray(0, kept));
    this.starts = new Int32Array(length);
    this.starts.set(starts.subarray(0, kept));
    this.ends = new Int32Array(length);
    this.ends.set(ends.subarray(0, kept));
  }

  #learn(unit: number): void {
    const { role, form } = normalizeCharacter(unit, this.#normalization);
    const fits = form.length <= 1;
    this.#roles[unit] = fits ? role : NEEDS_LOOKUP;
    this.#forms[unit] = fits ? form.charCodeAt(0) : 0;
  }

  #characterOf(codePoint: number): Character {
    const known = this.#characters.get(codePoint);
    if (known !== undefined) return known;
    const character = normalizeCharacter(codePoint, this.#normalization);
    this.#characters.set(codePoint, character);
    return character;
  }
}

/** BertNormalizer, then BertPreTokenizer. */
function normalizeCharacter(codePoint: number, normalization: BertNormalization): Character {
  const readAs = codePoint >= 0xd800 && codePoint <= 0xdfff ? REPLACEMENT : codePoint;
  if (normalization.cleanText && deletedCharacters.has(readAs)) return { role: VANISHES, form: '' };
  if (whitespace.has(readAs)) return { role: ENDS, form: '' };

  let form = String.fromCodePoint(readAs);
  if (normalization.stripAccents) form = stripAccents(form, readAs);
  // Character by character: in a whole word JavaScript, unlike the reference, would make the last Σ a ς.
  if (normalization.lowercase) form = Array.from(form, (character) => character.toLowerCase()).join('');
  if (form === '') return { role: VANISHES, form };

  const alone =
    (normalization.handleChineseCharacters && ideographs.has(readAs)) || punctuation.has(form.codePointAt(0) ?? readAs);
  return { role: alone ? STANDS_ALONE : JOINS, form };
}

/** The reference also brings marks into canonical order, which matters only for marks that aren't removed. */
function stripAccents(character: string, codePoint: number): string {
  const decomposed = undecomposed.has(codePoint) ? character : character.normalize('NFD');
  return Array.from(decomposed)
    .filter((part) => !nonspacingMarks.has(part.codePointAt(0) ?? 0))
    .join('');
}

/** A single pass, exact offsets, the ids of the Rust `tokenizers` package. */

interface WordPieceTokenizerOptions extends WordPieceOptions {
  readonly normalization: BertNormalization;
  readonly addedTokens: readonly AddedToken[];
  readonly names: SpecialTokenNames;
  readonly templates: SpecialTokenTemplates;
}

export function createWordPieceTokenizer(options: WordPieceTokenizerOptions): Tokenizer {
  const words = new WordReader(options.normalization);
  const vocabulary = new WordPieceVocabulary(options);
  const addedTokens = new Map(options.addedTokens.map((token) => [token.content, token]));
  const pattern = anyOf(addedTokens.keys(), 'g');

  function findWords(text: string, start: number, end: number, pieces: PieceBuffer): void {
    words.read(text, start, end);
    while (words.next()) vocabulary.split(words, pieces);
  }

  function findPieces(text: string, pieces: PieceBuffer): void {
    let done = 0;
    if (pattern !== undefined) {
      pattern.lastIndex = 0;
      for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
        const token = addedTokens.get(match[0]);
        if (token === undefined) continue;
        let start = match.index;
        let end = pattern.lastIndex;
        if (token.lstrip) while (start > done && isSpace(text, start - 1)) start--;
        if (token.rstrip) while (end < text.length && isSpace(text, end)) end++;
        findWords(text, done, start, pieces);
        pieces.push(token.id, start, end);
        done = end;
      }
    }
    findWords(text, done, text.length, pieces);
  }

  return new PieceTokenizer({ ...options, findPieces });
}

/** Unicode's white space; `\s` includes U+FEFF and excludes U+0085. */
function isSpace(text: string, at: number): boolean {
  return whitespace.has(text.charCodeAt(at));
}

export interface WordPieceOptions {
  readonly vocabulary: PieceIds;
  /** The token for a word that can't be split. */
  readonly unknownId: number;
  /** What pieces inside a word start with: `##`. */
  readonly continuingPrefix: string;
  /** Code points; a longer word is unknown as a whole. */
  readonly maxCharactersPerWord: number;
}

type Word = Pick<WordReader, 'units' | 'starts' | 'ends' | 'length'>;

export class WordPieceVocabulary {
  readonly #trie: PieceTrie;
  readonly #unknownId: number;
  readonly #maxCharactersPerWord: number;

  constructor({ vocabulary, unknownId, continuingPrefix, maxCharactersPerWord }: WordPieceOptions) {
    this.#trie = new PieceTrie(vocabulary, continuingPrefix);
    this.#unknownId = unknownId;
    this.#maxCharactersPerWord = maxCharactersPerWord;
  }

  /** Only the unknown token if a part of the word is not a piece. */
  split(word: Word, pieces: PieceBuffer): void {
    const { units, starts, ends, length } = word;
    const trie = this.#trie;
    const before = pieces.length;
    let start = 0;
    let stuck = isLongerThan(word, this.#maxCharactersPerWord);
    while (start < length && !stuck) {
      const end = trie.longest(units, start, length);
      stuck = end === start;
      if (!stuck) pieces.push(trie.id, starts[start] ?? 0, ends[end - 1] ?? 0);
      start = end;
    }
    if (!stuck) return;
    pieces.length = before;
    pieces.push(this.#unknownId, starts[0] ?? 0, ends[length - 1] ?? 0);
  }
}

function isLongerThan({ units, length }: Word, limit: number): boolean {
  if (length <= limit) return false;
  let characters = 0;
  for (let i = 0; i < length && characters <= limit; i++) {
    const isSecondOfPair = ((units[i] ?? 0) & 0xfc00) === 0xdc00;
    if (!isSecondOfPair) characters++;
  }
  return characters > limit;
}
