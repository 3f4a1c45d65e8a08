import type { EntityRange, EntityRow, TagDoubt, TaggedRow } from '../../datasets/index.js';
import type { TextOutputs } from '../../text/index.js';
import type { ModelResult } from '../explanation.js';
import type { Decoder } from '../family.js';
import { splitWords } from '../words.js';
import { OUTSIDE } from './bio-tags.js';
import { sentencePlaces, sentenceText } from './word-pieces.js';

type TagShares = TagDoubt['tags'];

interface TaggedWords {
  readonly words: readonly string[];
  readonly tags: readonly string[];
  /** Of the words whose tags are not certain. Absent if all are. */
  readonly shares?: readonly (TagShares | undefined)[];
}

/** Words are those of running text, cut where an entity begins or ends within one. */
export function taggedSentence({ text, entities, doubts = [] }: EntityRow): TaggedWords {
  const words = wordsOf(text, entities);
  return {
    words: words.map((word) => word.text),
    tags: words.map(({ start }) => tagAt(start, entities, text)),
    ...(doubts.length > 0 && { shares: words.map(({ start }) => sharesAt(start, doubts, text)) }),
  };
}

function wordsOf(text: string, entities: readonly EntityRange[]): Piece[] {
  const cuts = [...new Set(entities.flatMap(({ start, end }) => [start, end]))].sort((a, b) => a - b);
  return splitWords(text, 'punctuation').flatMap((word) => cutAt(word, cuts));
}

function tagAt(at: number, entities: readonly EntityRange[], text: string): string {
  const entity = entities.find(({ start, end }) => at >= start && at < end);
  return entity === undefined ? OUTSIDE : tagOf(at, entity, text);
}

/** Those of the doubt about this place. Words after its first one continue the entities that it begins. */
function sharesAt(at: number, doubts: readonly TagDoubt[], text: string): TagShares | undefined {
  const doubt = doubts.find(({ start, end }) => at >= start && at < end);
  if (doubt === undefined || text.slice(doubt.start, at).trim() === '') return doubt?.tags;
  const continued: Record<string, number> = {};
  for (const [tag, share] of Object.entries(doubt.tags)) {
    const inside = tag.replace(/^B-/, 'I-');
    continued[inside] = (continued[inside] ?? 0) + share;
  }
  return continued;
}

/** A tag that is this probable counts as certain. */
const CERTAIN = 0.99;

/** The words whose tags, by the entities of an answer, are not certain, with rounded probabilities. */
export function doubtsOf(text: string, entities: readonly EntityRange[], words: readonly TagDoubt[]): TagDoubt[] {
  return words.flatMap(({ start, end, tags }) => {
    const written = text.slice(start, end);
    const at = start + written.length - written.trimStart().length;
    if ((tags[tagAt(at, entities, text)] ?? 0) >= CERTAIN) return [];
    const rounded = Object.entries(tags).map(([tag, share]) => [tag, Number(share.toFixed(4))] as const);
    return [{ start, end, tags: Object.fromEntries(rounded.filter(([, share]) => share > 0)) }];
  });
}

/** An answer with its doubts. Rules have none, so a text that one matches is answered without them. */
export function answerWithDoubts(decode: Decoder, text: string, outputs: TextOutputs): ModelResult {
  const result = decode(text, outputs);
  const { labels, tokens = [], token_start_positions: starts = [], rules } = result;
  if (decode.tagShares === undefined || rules !== undefined) return result;
  const entities = labels.map((type, at): EntityRange => {
    const start = starts[at] ?? 0;
    return { start, end: start + (tokens[at]?.length ?? 0), type };
  });
  return { ...result, doubts: doubtsOf(text, entities, decode.tagShares(text, outputs)) };
}

/** The doubts of several answers to a text together: the mean for each word. @param entities those of the common answer */
export function meanDoubts(
  text: string,
  entities: readonly EntityRange[],
  answers: readonly Omit<EntityRow, 'text'>[],
): TagDoubt[] {
  const words = wordsOf(text, entities).map((word): TagDoubt => {
    const { start } = word;
    const tags: Record<string, number> = {};
    for (const answer of answers) {
      const shares = sharesAt(start, answer.doubts ?? [], text) ?? { [tagAt(start, answer.entities, text)]: 1 };
      for (const [tag, share] of Object.entries(shares)) tags[tag] = (tags[tag] ?? 0) + share / answers.length;
    }
    return { start, end: start + word.text.length, tags };
  });
  return doubtsOf(text, entities, words);
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
