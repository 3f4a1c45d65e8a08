import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withCommonTypes } from '../../../models/recipes/catalogue/entity-types.js';
import { foldText, MeasuredTexts, readTrainingRows } from '../../../models/recipes/catalogue/leaks.js';
import { spansOf } from '../../../src/families/entities/bio-tags.js';

const source = (train: readonly string[], dev?: readonly string[]) => ({
  title: 'some rows',
  licence: 'CC0',
  read: () => (dev === undefined ? { train } : { train, dev }),
});

describe('what is measured on', () => {
  const measured = new MeasuredTexts([
    'My card has not arrived yet!',
    'Yes. The second sentence of this text is one that tells where it is from.',
    '?!',
  ]);

  it('is known whatever the case, spacing and punctuation', () => {
    expect(measured.has('my card HAS not  arrived, yet')).toBe(true);
    expect(measured.has('My card has arrived')).toBe(false);
  });

  it('is known by each sentence that is long enough to tell', () => {
    expect(measured.has('the second sentence of this text is one that tells where it is from')).toBe(true);
    expect(measured.has('yes')).toBe(false);
  });

  it('is known by its marks where it has nothing else', () => {
    expect(measured.has('?!')).toBe(true);
    expect(measured.has('…')).toBe(false);
  });

  it('folds any text to one that folds no further', () => {
    fc.assert(fc.property(fc.string(), (text) => foldText(foldText(text)) === foldText(text)));
  });
});

describe('rows to train on', () => {
  const measured = new MeasuredTexts(['in the test']);

  it('lose those that are measured on, in train and dev, and each source is told how many', async () => {
    const sources = [source(['a', 'In the test.'], ['b', 'in the TEST']), source(['c', 'd'])];
    const rows = await readTrainingRows(sources, (row) => row, measured, '');
    expect(rows).toEqual({
      train: ['a', 'c', 'd'],
      dev: ['b'],
      counts: [
        { train: 1, dev: 1, leaks: 2 },
        { train: 2, dev: 0, leaks: 0 },
      ],
    });
  });

  it('have no dev where no source sets any aside', async () => {
    expect(await readTrainingRows([source(['a'])], (row) => row, measured, '')).toMatchObject({
      dev: undefined,
    });
  });
});

describe('types of entities', () => {
  it('become those that all three corpora have', () => {
    const words = ['Ada', 'at', 'Acme', 'Inc', 'saw', 'Star', 'Wars', 'in', 'Oslo'];
    const tags = [
      'B-person',
      'O',
      'B-corporation',
      'I-corporation',
      'O',
      'B-creative-work',
      'I-creative-work',
      'O',
      'B-LOC',
    ];
    expect(withCommonTypes({ words, tags })).toEqual({
      words,
      tags: ['B-PER', 'O', 'B-ORG', 'I-ORG', 'O', 'O', 'O', 'O', 'B-LOC'],
    });
  });

  it('never join or cut entities that stay', () => {
    const kept = ['person', 'PER', 'location', 'LOC', 'corporation', 'group', 'ORG'];
    const span = fc.record({
      type: fc.constantFrom(...kept, 'product', 'creative-work'),
      length: fc.integer({ min: 1, max: 3 }),
    });
    fc.assert(
      fc.property(fc.array(span, { maxLength: 8 }), (spans) => {
        const tags = spans.flatMap(({ type, length }) =>
          Array.from({ length }, (_, at) => `${at === 0 ? 'B' : 'I'}-${type}`),
        );
        const before = spansOf(tags).filter(({ type }) => kept.includes(type));
        const after = spansOf(withCommonTypes({ words: tags, tags }).tags);
        expect(after.map(({ start, end }) => [start, end])).toEqual(before.map(({ start, end }) => [start, end]));
      }),
    );
  });
});
