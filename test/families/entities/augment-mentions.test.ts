import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { spansOf } from '../../../src/families/entities/bio-tags.js';
import type { TaggedSentence } from '../../../src/families/entities/sequence-dataset.js';
import { withOtherMentions } from '../../../src/families/entities/training.js';
import { Random } from '../../../src/system/numbers.js';

const TAGS = ['O', 'B-PER', 'I-PER', 'B-LOC', 'I-LOC'];

function sentence(words: string, tags: string): TaggedSentence {
  return { words: words.split(' '), tags: tags.split(' ').map((tag) => TAGS.indexOf(tag)) };
}

function shown({ words, tags }: TaggedSentence): string {
  return words.map((word, index) => `${word}/${TAGS[tags[index] ?? -1]}`).join(' ');
}

const replaced = (sentences: readonly TaggedSentence[], seed: number) =>
  withOtherMentions(sentences, TAGS, Random.fromSeed(seed));

describe('withOtherMentions', () => {
  it('puts another mention of the same type in place of one', () => {
    const copies = replaced(
      [sentence('Ada Lovelace wrote', 'B-PER I-PER O'), sentence('then Turing came', 'O B-PER O')],
      1,
    );
    expect(copies.map(shown)).toEqual(['Turing/B-PER wrote/O', 'then/O Ada/B-PER Lovelace/I-PER came/O']);
  });

  it.each([
    ['no mention', [sentence('so it is', 'O O O')]],
    ['one mention only', [sentence('in Paris', 'O B-LOC'), sentence('from Paris', 'O B-LOC')]],
    ['one mention of each type', [sentence('Ada in Paris', 'B-PER O B-LOC')]],
    ['no sentence', []],
  ])('leaves the sentences if there is %s', (_, sentences) => {
    expect(replaced(sentences, 1)).toEqual(sentences);
  });

  it('gives the same copies for the same seed, others for another', () => {
    const sentences = Array.from({ length: 30 }, (_, index) => sentence(`to Town${index}`, 'O B-LOC'));
    expect(replaced(sentences, 1)).toEqual(replaced(sentences, 1));
    expect(replaced(sentences, 1)).not.toEqual(replaced(sentences, 2));
  });

  const mention = fc.tuple(
    fc.constantFrom('PER', 'LOC'),
    fc.array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: 3 }),
  );
  const part = fc.oneof(
    fc.constantFrom('x', 'y').map((word) => ({ words: [word], tags: ['O'] })),
    mention.map(([type, words]) => ({
      words,
      tags: words.map((_, index) => `${index === 0 ? 'B' : 'I'}-${type}`),
    })),
  );
  const sentences = fc.array(
    fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => ({
      words: parts.flatMap(({ words }) => words),
      tags: parts.flatMap(({ tags }) => tags.map((tag) => TAGS.indexOf(tag))),
    })),
    { maxLength: 6 },
  );
  /** What the words of a sentence are, with each mention as the name of its type. */
  const skeleton = ({ words, tags }: TaggedSentence) => {
    const spans = spansOf(tags.map((id) => TAGS[id] ?? ''));
    return words.flatMap((word, index) => {
      const span = spans.find(({ start, end }) => start <= index && index < end);
      if (span === undefined) return [word];
      return span.start === index ? [`<${span.type}>`] : [];
    });
  };
  const mentionsOf = (all: readonly TaggedSentence[]) =>
    new Set(
      all.flatMap(({ words, tags }) =>
        spansOf(tags.map((id) => TAGS[id] ?? '')).map(({ type, start, end }) => `${type} ${words.slice(start, end)}`),
      ),
    );

  it('keeps valid BIO and all words around mentions, and makes up no mention', () => {
    fc.assert(
      fc.property(sentences, fc.integer(), (originals, seed) => {
        const copies = replaced(originals, seed);
        const skeletons = new Set(originals.map((each) => skeleton(each).join(' ')));
        const known = mentionsOf(originals);
        for (const copy of copies) {
          expect(copy.tags).toHaveLength(copy.words.length);
          for (const [index, id] of copy.tags.entries()) {
            const tag = TAGS[id] ?? '';
            const before = TAGS[copy.tags[index - 1] ?? 0] ?? '';
            if (tag.startsWith('I-')) expect([`B-${tag.slice(2)}`, tag]).toContain(before);
          }
          expect(skeletons).toContain(skeleton(copy).join(' '));
          for (const each of mentionsOf([copy])) expect(known).toContain(each);
        }
      }),
    );
  });

  it('changes every sentence that has a mention, if there are others of its type', () => {
    fc.assert(
      fc.property(sentences, fc.integer(), (originals, seed) => {
        for (const original of originals) {
          const others = [
            sentence('q', 'B-PER'),
            sentence('r', 'B-PER'),
            sentence('q', 'B-LOC'),
            sentence('r', 'B-LOC'),
          ];
          const hasMention = original.tags.some((id) => id !== 0);
          const copies = replaced([original, ...others], seed);
          expect(copies).toHaveLength(others.length + 1);
          expect(copies.slice(0, 1).map(shown).includes(shown(original))).toBe(!hasMention);
        }
      }),
    );
  });
});
