import type { DatasetProblem, OFFSETS } from '../contract/index.js';
import { latePattern } from '../system/index.js';
import { counted, type DatasetWarning, quoted } from './problems.js';

/** Where the entities of texts are: whatever the places count, they become UTF-16 code units, or are refused. */

export type Offsets = (typeof OFFSETS)[number];

export interface WrittenSpan {
  readonly start: number;
  readonly end: number;
  readonly type: string;
  /** What the file says is there. */
  readonly text?: string | undefined;
}

export interface WrittenEntities {
  readonly text: string;
  readonly entities: readonly WrittenSpan[];
  readonly doubts?: readonly { readonly start: number; readonly end: number; readonly tags: unknown }[] | undefined;
}

export interface SettledSpans {
  /** With places in UTF-16 code units, without outer spaces, each entity once. */
  readonly rows: readonly WrittenEntities[];
  /** What the places were found to count, if that isn't UTF-16 code units. */
  readonly counted?: Exclude<Offsets, 'utf-16'>;
  readonly warnings: readonly DatasetWarning[];
  readonly problem?: Omit<DatasetProblem, 'file'>;
}

/** Share of the entities that may begin or end inside a word in any way of counting: some really do. */
const TOLERATED = 0.02;
/** Beyond this share, no model is trained on them. */
const REFUSED = 0.5;
const EXAMPLES = 3;

/**
 * Takes the places for what they count: UTF-16 code units unless, counted so, entities begin or end inside words, and
 * counted otherwise they don't. The same way of counting holds for all rows.
 * @param asked how the caller says they are counted
 */
export function settleSpans(rows: readonly WrittenEntities[], asked?: Offsets): SettledSpans {
  const known = asked === undefined ? bestOffsets(rows) : { offsets: asked, misfits: misfitsOf(rows, asked) };
  const total = rows.reduce((sum, { entities }) => sum + entities.length, 0);
  const { offsets, misfits } = known;
  const examples = misfits.slice(0, EXAMPLES).map(({ said, word }) => `${quoted(said)} of ${quoted(word)}`);
  const found = `${misfits.length} of ${counted(total, 'entity', 'entities')} ${misfits.length === 1 ? 'begins or ends' : 'begin or end'} inside a word: ${examples.join(', ')}`;
  if (misfits.length > Math.max(1, REFUSED * total) && asked === undefined) {
    return {
      rows,
      warnings: [],
      problem: { line: (misfits[0]?.row ?? 0) + 1, found, expected: expectedOf(rows, known) },
    };
  }
  const settled = rows.map(({ text, entities, doubts }) => {
    const placeOf = placesIn(text, offsets);
    return {
      text,
      entities: onceEach(entities.map((span) => trimmed(text, span, placeOf))),
      doubts: doubts?.map(({ start, end, tags }) => ({ start: placeOf(start), end: placeOf(end), tags })),
    };
  });
  const isDoubtful = misfits.length > TOLERATED * total;
  const warning: DatasetWarning = {
    kind: 'misplaced_entity',
    count: misfits.length,
    message: `${found}; check the offsets, which were read as ${NAMES[offsets]}`,
    examples: [],
  };
  return {
    rows: settled,
    ...(offsets !== 'utf-16' && { counted: offsets }),
    warnings: isDoubtful ? [warning] : [],
  };
}

/** What to do about places that fit no words. */
function expectedOf(rows: readonly WrittenEntities[], { offsets, misfits }: CountedSpans): string {
  const better = OTHER_OFFSETS.find((other) => misfitsOf(rows, other).length <= misfits.length / 4);
  if (better !== undefined) {
    return `offsets in UTF-16 code units; most of these fit ${NAMES[better]}: check the others, or give \`offsets: '${better}'\``;
  }
  const total = rows.reduce((sum, { entities }) => sum + entities.length, 0);
  return misfitsOf(rows, offsets, 1).length <= TOLERATED * total
    ? 'exclusive ends, so that text.slice(start, end) is the entity; add 1 to each end'
    : "offsets in UTF-16 code units (for other units, give `offsets: 'code-points'` or `offsets: 'bytes'`)";
}

const NAMES: Readonly<Record<Offsets, string>> = {
  'utf-16': 'UTF-16 code units',
  'code-points': 'code points',
  bytes: 'UTF-8 bytes',
};

export const offsetsName = (offsets: Offsets): string => NAMES[offsets];

interface CountedSpans {
  readonly offsets: Offsets;
  readonly misfits: readonly Misfit[];
}

const OTHER_OFFSETS = ['code-points', 'bytes'] as const;

function bestOffsets(rows: readonly WrittenEntities[]): CountedSpans {
  const plain: CountedSpans = { offsets: 'utf-16', misfits: misfitsOf(rows, 'utf-16') };
  const total = rows.reduce((sum, { entities }) => sum + entities.length, 0);
  if (plain.misfits.length === 0) return plain;
  let best = plain;
  for (const offsets of OTHER_OFFSETS) {
    const misfits = misfitsOf(rows, offsets);
    const isCertain = misfits.length <= Math.min(TOLERATED * total, plain.misfits.length / 4);
    if (isCertain && misfits.length < best.misfits.length) best = { offsets, misfits };
  }
  return best;
}

interface Misfit {
  readonly row: number;
  readonly said: string;
  /** With the word around it. */
  readonly word: string;
}

/** Letters and digits of scripts that put spaces between words. */
const letter = latePattern(
  '[\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}\\p{Script=Armenian}\\p{Number}]',
  'u',
);
const surrogate = latePattern('\\p{Surrogate}', 'u');

/** The entities that begin or end inside a word, or aren't what the file says of them. @param longer added to each end */
function misfitsOf(rows: readonly WrittenEntities[], offsets: Offsets, longer = 0): Misfit[] {
  return rows.flatMap(({ text, entities }, row) => {
    const placeOf = placesIn(text, offsets);
    return entities.flatMap((span) => {
      const [start, end] = [placeOf(span.start), placeOf(span.end + longer)];
      const said = text.slice(start, end);
      const differs = span.text !== undefined && span.text.trim() !== said.trim();
      const isCut = isInside(text, start) || isInside(text, end) || surrogate().test(said);
      if (!differs && !isCut) return [];
      return [{ row, said, word: text.slice(wordStart(text, start), wordEnd(text, end)) }];
    });
  });
}

const isLetter = (character: string | undefined): boolean => character !== undefined && letter().test(character);

const isInside = (text: string, place: number): boolean => isLetter(text[place - 1]) && isLetter(text[place]);

function wordStart(text: string, place: number): number {
  let at = place;
  while (isInside(text, at)) at -= 1;
  return at;
}

function wordEnd(text: string, place: number): number {
  let at = place;
  while (isInside(text, at)) at += 1;
  return at;
}

/** From places that count something to UTF-16 code units. Places beyond the text stay beyond it. */
function placesIn(text: string, offsets: Offsets): (place: number) => number {
  if (offsets === 'utf-16' || !/[^\0-\x7f]/u.test(text)) return (place) => place;
  const starts: number[] = [];
  let unit = 0;
  for (const character of text) {
    // A place within a character's bytes is taken for its beginning.
    for (let part = offsets === 'bytes' ? Buffer.byteLength(character) : 1; part > 0; part -= 1) starts.push(unit);
    unit += character.length;
  }
  return (place) => starts[place] ?? text.length + place - starts.length;
}

/** White space at its ends is no part of an entity. */
function trimmed(text: string, span: WrittenSpan, placeOf: (place: number) => number): WrittenSpan {
  const [start, end] = [placeOf(span.start), placeOf(span.end)];
  const said = text.slice(start, end);
  const type = span.type.trim();
  if (said.trim() === '') return { start, end, type };
  return {
    start: start + said.length - said.trimStart().length,
    end: end - (said.length - said.trimEnd().length),
    type,
  };
}

function onceEach(spans: readonly WrittenSpan[]): readonly WrittenSpan[] {
  const keys = spans.map(({ start, end, type }) => `${start} ${end} ${type}`);
  return spans.filter((_, at) => keys.indexOf(keys[at] ?? '') === at);
}
