/**
 * The normalisation forms of Unicode (UAX #15) with the places of all characters. The runtime decomposes and composes
 * single characters; their order and what composes with what follow the Rust crate that `tokenizers` uses, so that the
 * places are equal, too.
 */
import { undecomposed, unorderedMarks } from '../character-classes.js';
import { type AlignedText, Rewriting } from './aligned-text.js';

export type CanonicalForm = 'NFC' | 'NFD' | 'NFKC' | 'NFKD';

/** A character on its way to its form. */
interface Part {
  readonly character: string;
  /** Characters of the text that it replaces; 0 for one that a decomposition added. */
  readonly replaces: number;
}

export function canonicalForm(text: AlignedText, form: CanonicalForm): AlignedText {
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
