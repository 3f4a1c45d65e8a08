import { latePattern, type Steps } from '../system/index.js';
import { PieceTrie } from './piece-trie.js';

/** Terms to find. */
export interface TermList {
  readonly terms: readonly string[];
  readonly ignoreCase: boolean;
  /** Whether a term has to begin and end where words do. */
  readonly wholeWords: boolean;
}

/** @param start, end in UTF-16 code units */
export type FoundTerm = (list: number, start: number, end: number) => void;

/** Terms that are folded before others get a turn. */
const TERMS_A_STEP = 200;

/**
 * Finds all of many terms in a text, in any canonical form and with any white space between their words. From each place
 * where a term may begin, a trie is followed as far as the text goes with it, so that time hardly grows with the terms.
 */
export class TermMatcher {
  readonly #tries: readonly FoldedTrie[];

  private constructor(tries: readonly FoldedTrie[]) {
    this.#tries = tries;
  }

  static *build(lists: readonly TermList[]): Steps<TermMatcher> {
    const tries: FoldedTrie[] = [];
    for (const ignoreCase of [false, true]) {
      const owners: number[][] = [];
      const ids = new Map<string, number>();
      let isWhole = true;
      for (const [list, given] of lists.entries()) {
        if (given.ignoreCase !== ignoreCase) continue;
        isWhole &&= given.wholeWords;
        for (const [at, term] of given.terms.entries()) {
          if (at % TERMS_A_STEP === 0) yield;
          const { folded } = fold(term.trim(), ignoreCase);
          const id = ids.get(folded) ?? owners.length;
          ids.set(folded, id);
          const known = owners[id];
          if (known === undefined) owners.push([list]);
          else if (!known.includes(list)) known.push(list);
        }
      }
      if (owners.length === 0) continue;
      const wholeWords = lists.map((given) => given.wholeWords);
      tries.push({ ignoreCase, isWhole, wholeWords, owners, trie: new PieceTrie(ids, '') });
      yield;
    }
    return new TermMatcher(tries);
  }

  /** Calls back for each place of each term, also where they overlap. */
  find(text: string, found: FoundTerm): void {
    for (const { ignoreCase, isWhole, owners, trie, wholeWords } of this.#tries) {
      const folded = fold(text, ignoreCase);
      const units = unitsOf(folded.folded);
      for (let start = 0; start < units.length; start += 1) {
        if (!isBound(folded, start, isWhole)) continue;
        trie.forEachPiece(units, start, (id, end) => {
          const isWordEnd = isBound(folded, end, true);
          if (!isWordEnd && (isWhole || !isBound(folded, end, false))) return;
          const isWord = isWordEnd && isBound(folded, start, true);
          for (const list of owners[id] ?? []) {
            if (isWord || wholeWords[list] === false) found(list, placeIn(folded, start), placeIn(folded, end));
          }
        });
      }
    }
  }
}

interface FoldedTrie {
  readonly ignoreCase: boolean;
  /** Whether all of its terms are whole words. */
  readonly isWhole: boolean;
  /** Of each list. */
  readonly wholeWords: readonly boolean[];
  /** The lists of each term, by its id. */
  readonly owners: readonly (readonly number[])[];
  readonly trie: PieceTrie;
}

/** A text as terms are compared with it. */
interface FoldedText {
  readonly folded: string;
  /** Where each unit is in the text, −1 inside what must not be cut, and the length of the text. Absent: in the same place. */
  readonly starts?: Int32Array;
  /** What each unit belongs to. */
  readonly kinds: Uint8Array;
}

/** Kinds of characters: words end between two of which one is no letter, or of a script that sets no spaces. */
const OTHER = 0;
const WORD = 1;
const UNSPACED_WORD = 2;

function isBound({ folded, starts, kinds }: FoldedText, at: number, ofWord: boolean): boolean {
  if (at === 0 || at === folded.length) return true;
  if (starts !== undefined && (starts[at] ?? -1) < 0) return false;
  return !ofWord || kinds[at - 1] !== WORD || kinds[at] !== WORD;
}

function placeIn({ starts }: FoldedText, at: number): number {
  return starts === undefined ? at : (starts[at] ?? at);
}

function unitsOf(text: string): Uint16Array {
  const units = new Uint16Array(text.length);
  for (let at = 0; at < text.length; at += 1) units[at] = text.charCodeAt(at);
  return units;
}

const ASCII_KINDS = Uint8Array.from({ length: 128 }, (_, code) =>
  /\w/.test(String.fromCharCode(code)) ? WORD : OTHER,
);
/** Not a single space: then the places of a folded text are others. */
const unusualSpace = /\s\s|[^\S ]/;

function fold(text: string, ignoreCase: boolean): FoldedText {
  return asciiFold(text, ignoreCase) ?? unicodeFold(text, ignoreCase);
}

function asciiFold(text: string, ignoreCase: boolean): FoldedText | undefined {
  const kinds = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code > 0x7f) return undefined;
    kinds[at] = ASCII_KINDS[code] ?? OTHER;
  }
  if (unusualSpace.test(text)) return undefined;
  return { folded: ignoreCase ? text.toLowerCase() : text, kinds };
}

/**
 * White space, or a character with all that belongs to it: marks, joiners with what they join, tones of skin; two letters of a
 * flag. Cutting between them would change what is read.
 */
const SPACE = '[\\p{White_Space}\\uFEFF]+';
const BELONGS = '[\\p{M}\\p{Grapheme_Extend}\\p{Emoji_Modifier}\\u200D]';
const segment = latePattern(
  `${SPACE}(?!${BELONGS})|(?:\\p{Regional_Indicator}{2}|.)(?:\\u200D\\p{Extended_Pictographic}|${BELONGS})*`,
  'gsu',
);
const isSpace = latePattern(`^${SPACE}$`, 'u');
const startsWord = latePattern('^[\\p{L}\\p{N}_]', 'u');
const startsUnspaced = latePattern(
  '^[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}ー]',
  'u',
);

interface FoldedSegment {
  readonly folded: string;
  readonly kind: number;
}

/** Most texts have few different segments. */
const MOST_KNOWN = 10_000;
const known = { cased: new Map<string, FoldedSegment>(), uncased: new Map<string, FoldedSegment>() };

/** NFD, and with `ignoreCase` the canonical caseless form (Unicode 16.0, D145, with upper and then lower case as folding). */
function unicodeFold(text: string, ignoreCase: boolean): FoldedText {
  const segments = text.match(segment()) ?? [];
  const cache = ignoreCase ? known.uncased : known.cased;
  const parts = segments.map((each) => {
    const earlier = cache.get(each);
    if (earlier !== undefined) return earlier;
    const made = foldedSegment(each, ignoreCase);
    if (cache.size >= MOST_KNOWN) cache.clear();
    if (each.length <= 8) cache.set(each, made);
    return made;
  });
  const folded = parts.map((part) => part.folded).join('');
  const starts = new Int32Array(folded.length + 1).fill(-1);
  const kinds = new Uint8Array(folded.length);
  let [at, place] = [0, 0];
  for (const [index, part] of parts.entries()) {
    starts[at] = place;
    kinds.fill(part.kind, at, at + part.folded.length);
    at += part.folded.length;
    place += segments[index]?.length ?? 0;
  }
  starts[at] = place;
  return { folded, starts, kinds };
}

function foldedSegment(text: string, ignoreCase: boolean): FoldedSegment {
  if (isSpace().test(text)) return { folded: ' ', kind: OTHER };
  const plain = text.normalize('NFD');
  const folded = ignoreCase ? plain.toUpperCase().toLowerCase().normalize('NFD') : plain;
  const kind = startsUnspaced().test(text) ? UNSPACED_WORD : startsWord().test(text) ? WORD : OTHER;
  return { folded, kind };
}
