import { latePattern, type Random } from '../system/index.js';

/** Splits texts into words like those of the training data, whose sentences come already split. */

/**
 * punctuation: marks around words are words, as in most corpora. marks: marks within words too, as in biomedical
 * corpora. characters: as punctuation, and each character of a script without spaces is a word.
 */
export const wordSplittings = ['whitespace', 'punctuation', 'marks', 'characters'] as const;
export type WordSplitting = (typeof wordSplittings)[number];

/** `text.slice(start, start + word.text.length) === word.text` */
export interface Word {
  readonly text: string;
  readonly start: number;
}

/** A run without white space. A stray byte order mark counts as white space, as tokenizers drop it. */
const chunk = latePattern('[^\\p{White_Space}\\uFEFF]+', 'gu');
/** Scripts that set no spaces between words. */
const UNSPACED =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}ー';
const unspacedRun = latePattern(`[${UNSPACED}][${UNSPACED}\\p{M}]*|[^${UNSPACED}]+`, 'gu');
const unspacedCharacter = latePattern(`[${UNSPACED}]\\p{M}*|\\p{M}+`, 'gu');
const hasUnspaced = latePattern(`[${UNSPACED}]`, 'u');
const startsUnspaced = latePattern(`^[${UNSPACED}]`, 'u');

const plain = /^[a-z0-9]+$/i;

/** The words of a text, left to right; together they have every character that isn't white space. */
export function splitWords(text: string, splitting: WordSplitting): Word[] {
  const chunks = isAscii(text) ? asciiChunks(text) : matches(text, chunk(), 0);
  if (splitting === 'whitespace') return chunks;
  const words: Word[] = [];
  for (const word of chunks) {
    if (plain.test(word.text)) words.push(word);
    else for (const part of splitChunk(word, splitting)) words.push(part);
  }
  return words;
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) > 0x7f) return false;
  return true;
}

/** As `chunk` matches them. The pattern takes milliseconds to compile. */
function asciiChunks(text: string): Word[] {
  const words: Word[] = [];
  let start = 0;
  for (let at = 0; at <= text.length; at += 1) {
    const code = at < text.length ? text.charCodeAt(at) : SPACE;
    if (code > SPACE || (code !== SPACE && (code < TAB || code > CARRIAGE_RETURN))) continue;
    if (at > start) words.push({ text: text.slice(start, at), start });
    start = at + 1;
  }
  return words;
}

const TAB = 0x09;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;

function splitChunk(word: Word, splitting: WordSplitting): Word[] {
  if (isAscii(word.text) || !hasUnspaced().test(word.text)) return setApart(word, splitting);
  return matches(word.text, unspacedRun(), word.start).flatMap((run) => {
    const { text: part, start } = run;
    if (startsUnspaced().test(part)) {
      return splitting === 'characters' ? matches(part, unspacedCharacter(), start) : segment(run);
    }
    return setApart(run, splitting);
  });
}

function setApart(run: Word, splitting: WordSplitting): Word[] {
  return splitting === 'marks' ? matches(run.text, singleMarks(), run.start) : setPunctuationApart(run);
}

function matches(text: string, pattern: RegExp, offset: number): Word[] {
  const words: Word[] = [];
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    words.push({ text: match[0], start: offset + match.index });
  }
  return words;
}

/** Made on first use, which takes milliseconds. ICU chooses dictionaries by script, so any language will do. */
let segmenter: Intl.Segmenter | undefined;

/** ICU's time for a run grows with the square of its length, so longer runs are segmented in pieces. */
const MAX_SEGMENTED = 1000;
/** Words that begin so near the end of a piece may be other ones when it goes on. */
const UNCERTAIN = 50;

function segment({ text, start }: Word): Word[] {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'word' });
  const words: Word[] = [];
  for (let from = 0; from < text.length; ) {
    const piece = text.slice(from, from + MAX_SEGMENTED);
    const parts = Array.from(segmenter.segment(piece), (part) => part.segment);
    const isLast = from + piece.length === text.length;
    const end = from + piece.length - (isLast ? 0 : UNCERTAIN);
    for (const part of parts) {
      if (from >= end) break;
      words.push({ text: part, start: start + from });
      from += part.length;
    }
  }
  return words;
}

/** Punctuation as BERT's tokenizer sets it apart: Unicode's, and ASCII's symbols. */
const MARK = '[\\p{P}$+<=>^`|~]';
const singleMarks = latePattern(`${MARK}|(?:(?!${MARK}).)+`, 'gsu');

const mark = latePattern('[\\p{P}`]', 'u');
/** A mark, or several of the same, at the start, unless it belongs to what follows (@user, #tag, -5, .5, 's). */
const leadingMarks = latePattern("^(?![@#][\\p{L}\\p{N}_]|-?\\.?\\p{N}|['’](?:s|m|d|re|ve|ll)$)([\\p{P}`])\\1*", 'iu');
/** The end of John's, it’s, we'll, which is a word of its own in corpora that follow the Penn Treebank. */
const clitic = latePattern("(?<=[\\p{L}\\p{N}])['’](?:s|m|d|re|ve|ll)$", 'iu');
const MAX_CLITIC = 3;
/** U.S., e.g., the J. of J. Smith. */
const initials = latePattern('^(?:\\p{L}\\.){1,6}$', 'u');
const abbreviations = new Set(
  'mr. mrs. ms. dr. prof. st. jr. sr. inc. corp. co. ltd. vs. gov. gen. sen. rep. rev. capt. lt. col.'.split(' '),
);
/** One more than the longest of them, so that the end of a longer word isn't taken for one. */
const MAX_ABBREVIATION = 6;

/** `"Paris."` → `"`, `Paris`, `.`, `"`. What stands inside a word stays: don't, AT&T, 3.5, e-mail, URLs. */
function setPunctuationApart({ text, start }: Word): Word[] {
  const before: Word[] = [];
  const after: Word[] = [];
  let from = 0;
  let to = text.length;
  for (let match = marksAtStart(text); match; match = marksAtStart(text.slice(from))) {
    before.push({ text: match[0], start: start + from });
    from += match[0].length;
  }
  for (let cut = endLength(text.slice(from, to)); cut > 0; cut = endLength(text.slice(from, to))) {
    to -= cut;
    after.push({ text: text.slice(to, to + cut), start: start + to });
  }
  const word = from < to ? [{ text: text.slice(from, to), start: start + from }] : [];
  return [...before, ...word, ...after.reverse()];
}

/** Words that begin with a letter do without the pattern, which takes half a millisecond to compile. */
function marksAtStart(text: string): RegExpExecArray | null {
  return mark().test(text.slice(0, 2)) ? leadingMarks().exec(text) : null;
}

/** How much of a word's end is a word of its own: a mark, several of the same, or a clitic. */
function endLength(text: string): number {
  const last = text.at(-1) ?? '';
  if (!mark().test(last)) {
    const end = text.slice(-1 - MAX_CLITIC);
    return /['’]/.test(end) ? (clitic().exec(end)?.[0].length ?? 0) : 0;
  }
  if (initials().test(text) || abbreviations.has(text.slice(-MAX_ABBREVIATION).toLowerCase())) return 0;
  let length = 1;
  while (text.at(-1 - length) === last) length += 1;
  return length;
}

const SENTENCES_TO_LOOK_AT = 2000;
/** Scripts without spaces decide only where they make up this share of the words. */
const MIN_UNSPACED_SHARE = 0.1;
/** Even where characters were tagged one by one, a few words have several: numbers, names in brackets, slips. */
const MAX_WHOLE_UNSPACED_SHARE = 0.05;
/** If every mark is a word, mixed words are this rare compared with lone marks that usually stand within words. */
const MAX_MIXED_SHARE = 0.1;

const innerMark = /^[-–/&'’]$/u;
const mixed = latePattern(`[\\p{L}\\p{N}]${MARK}|${MARK}[\\p{L}\\p{N}]`, 'u');
const onlyMarks = latePattern('^[\\p{P}`]+$', 'u');
const severalUnspaced = latePattern(`[${UNSPACED}]\\p{M}*[${UNSPACED}]`, 'u');

/**
 * Marks are set apart unless words with a mark attached outnumber the marks that stand alone. Scripts without spaces
 * are split into characters if nearly all their words are single characters.
 */
export function guessSplitting(sentences: readonly (readonly string[])[]): WordSplitting {
  const words = sentences.slice(0, SENTENCES_TO_LOOK_AT).flat();
  const numberOf = (holds: (word: string) => boolean) => words.filter(holds).length;
  const unspaced = numberOf((word) => startsUnspaced().test(word));
  const wholeUnspaced = numberOf((word) => severalUnspaced().test(word));
  const areCharacters = wholeUnspaced <= unspaced * MAX_WHOLE_UNSPACED_SHARE;
  if (unspaced > words.length * MIN_UNSPACED_SHARE && areCharacters) return 'characters';

  const loneInnerMarks = numberOf((word) => innerMark.test(word));
  if (numberOf((word) => mixed().test(word)) < loneInnerMarks * MAX_MIXED_SHARE) return 'marks';
  const loneMarks = numberOf((word) => onlyMarks().test(word));
  const isAttached = (word: string) =>
    !onlyMarks().test(word) && !startsUnspaced().test(word) && splitWords(word, 'punctuation').length > 1;
  return numberOf(isAttached) > loneMarks ? 'whitespace' : 'punctuation';
}

/** Share of a text's words that one edit touches (Wei & Zou 2019, "EDA", α for small sets). */
const EDITED_SHARE = 0.1;
/** Shorter texts are left alone, since dropping one of their words may change what they are about. */
const MIN_WORDS = 4;

/** Drops words or swaps neighbours; a short text stays. @param mayDrop which may be dropped. Default: every word */
export function editWords(text: string, random: Random, mayDrop: (word: string) => boolean = () => true): string {
  const words = text.split(' ');
  if (words.length < MIN_WORDS) return text;
  const edits = Math.max(1, Math.round(words.length * EDITED_SHARE));
  for (let edit = 0; edit < edits; edit += 1) {
    const at = random.integer(words.length - 1);
    const drops = random.uniform() < 0.5 && mayDrop(words[at] ?? '');
    if (drops) words.splice(at, 1);
    else words.splice(at, 2, ...words.slice(at, at + 2).reverse());
  }
  return words.join(' ');
}
