import type { EntityRange, EntityRow, TaggedRow } from '../../datasets/index.js';
import { splitWords } from '../words.js';
import { sentencePlaces, sentenceText } from './word-pieces.js';

interface TaggedWords {
  readonly words: readonly string[];
  readonly tags: readonly string[];
}

/** Words are those of running text, cut where an entity begins or ends within one. */
export function taggedSentence({ text, entities }: EntityRow): TaggedWords {
  const cuts = [...new Set(entities.flatMap(({ start, end }) => [start, end]))].sort((a, b) => a - b);
  const words: string[] = [];
  const tags: string[] = [];
  for (const word of splitWords(text, 'punctuation')) {
    for (const piece of cutAt(word, cuts)) {
      const entity = entities.find(({ start, end }) => piece.start >= start && piece.start < end);
      words.push(piece.text);
      tags.push(entity === undefined ? 'O' : tagOf(piece.start, entity, text));
    }
  }
  return { words, tags };
}

interface Piece {
  readonly text: string;
  readonly start: number;
}

function cutAt({ text, start }: Piece, cuts: readonly number[]): Piece[] {
  const inside = cuts.filter((cut) => cut > start && cut < start + text.length);
  const edges = [start, ...inside, start + text.length];
  return edges.slice(1).map((end, at) => {
    const from = edges[at] ?? start;
    return { text: text.slice(from - start, end - start), start: from };
  });
}

/** The first word of an entity begins it; white space in front of that doesn't count. */
function tagOf(at: number, { start, type }: EntityRange, text: string): string {
  return text.slice(start, at).trim() === '' ? `B-${type}` : `I-${type}`;
}

/** A text with the places of its entities, from words with BIO tags: words are separated by one space. */
export function sentenceWithEntities({ tokens, tags }: TaggedRow): EntityRow {
  const places = sentencePlaces(tokens);
  const entities: EntityRange[] = [];
  for (const [at, place] of places.entries()) {
    const [, position, type] = /^([BI])-(.+)$/u.exec(tags[at] ?? '') ?? [];
    if (type === undefined) continue;
    const end = place.start + place.text.length;
    const last = entities.at(-1);
    const continues = position === 'I' && last?.type === type && last.end === place.start - 1;
    if (continues && last) entities[entities.length - 1] = { ...last, end };
    else entities.push({ start: place.start, end, type });
  }
  return { text: sentenceText(tokens), entities };
}
