import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { conllSentences, looksLikeConll } from '../../src/datasets/conll.js';
import { ProblemList } from '../../src/datasets/problems.js';

/** Schemes of tags: whatever they are written in, the same entities are read. */

interface Entity {
  readonly type: string;
  readonly length: number;
}

/** Sentences as entities and words outside of any; no two entities of a type touch, which IOB1 and IO can't always say. */
const sentence = fc.array(fc.record({ type: fc.constantFrom('PER', 'LOC'), length: fc.integer({ min: 1, max: 4 }) }), {
  minLength: 1,
  maxLength: 4,
});

const written: Readonly<Record<string, (entity: Entity) => readonly string[]>> = {
  BIO: ({ type, length }) => Array.from({ length }, (_, at) => `${at === 0 ? 'B' : 'I'}-${type}`),
  IOB1: ({ type, length }) => Array.from({ length }, () => `I-${type}`),
  IO: ({ type, length }) => Array.from({ length }, () => type),
  BIOES: ({ type, length }) =>
    Array.from({ length }, (_, at) => `${length === 1 ? 'S' : at === 0 ? 'B' : at === length - 1 ? 'E' : 'I'}-${type}`),
  BILOU: ({ type, length }) =>
    Array.from({ length }, (_, at) => `${length === 1 ? 'U' : at === 0 ? 'B' : at === length - 1 ? 'L' : 'I'}-${type}`),
};

const linesOf = (sentences: readonly (readonly string[])[], columns: (tag: string, word: number) => string) =>
  sentences.flatMap((tags) => [...tags.map(columns), '']).map((text, at) => ({ number: at + 1, text }));

/** An I- that continues nothing begins an entity, as it is read later on. */
function repaired(tags: readonly string[]): readonly string[] {
  return tags.map((tag, at) =>
    tag.startsWith('I') && tags[at - 1]?.slice(2) !== tag.slice(2) ? `B${tag.slice(1)}` : tag,
  );
}

describe.each(Object.keys(written))('%s', (scheme) => {
  it('is read as BIO, with any number of columns', () => {
    fc.assert(
      fc.property(fc.array(sentence, { minLength: 1, maxLength: 5 }), fc.boolean(), (sentences, hasMore) => {
        const tagsIn = (name: string) =>
          sentences.map((entities) => entities.flatMap((entity) => [...(written[name]?.(entity) ?? []), 'O']));
        const lines = linesOf(tagsIn(scheme), (tag, word) => (hasMore ? `w${word} NN _ ${tag}` : `w${word}\t${tag}`));
        const problems = new ProblemList();
        const { rows } = conllSentences(lines, 'x', problems);
        expect(problems.total).toBe(0);
        expect(rows.map(({ tags }) => repaired(tags))).toEqual(tagsIn('BIO'));
        if (scheme !== 'IO') expect(looksLikeConll(lines)).toBe(true);
      }),
    );
  });
});

describe('lines of words', () => {
  it('are told from tables and texts', () => {
    const look = (...texts: string[]) => looksLikeConll(texts.map((text, at) => ({ number: at + 1, text })));
    expect(look('text,label', 'a lamp,good')).toBe(false);
    expect(look('O', 'B-PER')).toBe(false);
    expect(look('# a comment', 'Ada B-PER', '', '# O')).toBe(true);
    expect(look('a text that ends in O')).toBe(true);
    expect(look('a text', 'and another')).toBe(false);
  });

  it.each([
    ['before the last one', ['Ada B-PER x', 'sang O y', 'Bob B-PER z'], ['B-PER', 'O', 'B-PER']],
    ['that is the last of several with tags', ['Ada B-NP B-PER', 'sang O O', 'Bob B-NP O'], ['B-PER', 'O', 'O']],
    ['between tabs and spaces', ['Ada\tB-PER \tx', 'sang\t O\ty'], ['B-PER', 'O']],
    [
      'even if later ones look like tags here and there',
      ['Ada B-PER O', 'sang O y', 'Bob I-PER z'],
      ['B-PER', 'O', 'I-PER'],
    ],
  ])('have their tags in a column %s', (_, texts, tags) => {
    const lines = texts.map((text, at) => ({ number: at + 1, text }));
    const problems = new ProblemList();
    const { rows } = conllSentences(lines, 'x', problems);
    expect(problems.total).toBe(0);
    expect(rows.map((row) => row.tags)).toEqual([tags]);
  });

  it('have their tags in a column of which nine in ten are tags; the others are problems', () => {
    const read = (odd: number) => {
      const texts = Array.from({ length: 20 }, (_, at) => `w${at} ${at < odd ? 'odd' : 'B-PER'} NN`);
      const problems = new ProblemList();
      conllSentences(
        texts.map((text, at) => ({ number: at + 1, text })),
        'x',
        problems,
      );
      return problems.toError().problems.map(({ line, found }) => [line, found]);
    };
    expect(read(2)).toEqual([1, 2].map((line) => [line, 'found the tag "odd"']));
    // Otherwise the last column has the tags, whatever they are.
    expect(read(3)).not.toContainEqual([1, 'found the tag "odd"']);
  });

  it('may be a # or numbers', () => {
    const lines = linesOf([['O', 'B-X']], (tag, word) => `${word === 0 ? '#' : '7'} ${tag}`);
    const { rows } = conllSentences(lines, 'x', new ProblemList());
    expect(rows).toEqual([{ tokens: ['#', '7'], tags: ['O', 'B-X'] }]);
  });
});
