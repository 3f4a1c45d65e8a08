import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LabelAnswer } from '../../src/api/answers.js';
import { assignFolds, type FoldUnit, figuresOverFolds, unitsOf } from '../../src/api/cross-validate-rows.js';
import { type AnsweredRow, doubtfulRows } from '../../src/api/label-errors.js';
import { Random } from '../../src/system/numbers.js';
import { runToEnd } from '../../src/system/pauses.js';

/** How rows are divided for a cross-validation, and which of them are doubtful. */

/** Rows that stand for themselves, with these labels. */
const single = (labels: readonly (readonly string[])[]): FoldUnit[] =>
  labels.map((own, row) => ({ rows: [row], labels: own }));
const foldsOf = (units: readonly FoldUnit[], folds: number, seed = 0) => [
  ...runToEnd(assignFolds(units, folds, Random.fromSeed(seed))),
];
/** How often each fold has each label, fold by fold. */
const countsOf = (units: readonly FoldUnit[], assigned: readonly number[], folds: number, label: string) =>
  Array.from({ length: folds }, (_, fold) =>
    units
      .filter((_unit, at) => assigned[at] === fold)
      .reduce((sum, { labels }) => sum + labels.filter((each) => each === label).length, 0),
  );
const spread = (counts: readonly number[]) => Math.max(...counts) - Math.min(...counts);

describe('folds of rows with one label', () => {
  it('have what scikit-learn shows for StratifiedKFold', () => {
    // Its user guide: 45 rows of one class and 5 of another, three folds: 15 + 2, 15 + 2 and 15 + 1 in the tests.
    const units = single([...Array(45).fill(['0']), ...Array(5).fill(['1'])]);
    const assigned = foldsOf(units, 3);
    expect(countsOf(units, assigned, 3, '0')).toEqual([15, 15, 15]);
    expect(countsOf(units, assigned, 3, '1').sort()).toEqual([1, 2, 2]);
  });

  it('have each label and all rows as evenly as can be, each row once, for any labels', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 2, maxLength: 60 }),
        fc.integer({ min: 2, max: 7 }),
        fc.integer(),
        (labels, wanted, seed) => {
          const folds = Math.min(wanted, labels.length);
          const units = single(labels.map((label) => [label]));
          const assigned = foldsOf(units, folds, seed);
          expect(assigned).toHaveLength(labels.length);
          const sizes = Array.from({ length: folds }, (_, fold) => assigned.filter((each) => each === fold).length);
          expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(labels.length);
          expect(spread(sizes)).toBeLessThanOrEqual(1);
          for (const label of new Set(labels)) {
            expect(spread(countsOf(units, assigned, folds, label))).toBeLessThanOrEqual(1);
          }
          expect(foldsOf(units, folds, seed)).toEqual(assigned);
        },
      ),
    );
  });

  it('differ from seed to seed', () => {
    const units = single(Array.from({ length: 40 }, (_, row) => [row % 2 ? 'a' : 'b']));
    expect(foldsOf(units, 4, 1)).not.toEqual(foldsOf(units, 4, 2));
  });
});

describe('folds of rows with any number of labels', () => {
  it('share out the rare label first, worked out by hand', () => {
    // Two rows have `rare`, one beside `often`; of four with `often`, each of two folds has to get two.
    const units = single([['rare', 'often'], ['rare'], ['often'], ['often'], ['often'], []]);
    for (const seed of [1, 2, 3, 4, 5]) {
      const assigned = foldsOf(units, 2, seed);
      expect(countsOf(units, assigned, 2, 'rare')).toEqual([1, 1]);
      expect(countsOf(units, assigned, 2, 'often')).toEqual([2, 2]);
      expect(assigned.filter((fold) => fold === 0)).toHaveLength(3);
    }
  });

  it('leave no fold empty, and spread the rarest label evenly', () => {
    const someLabels = fc.subarray(['a', 'b', 'c'] as const);
    fc.assert(
      fc.property(fc.array(someLabels, { minLength: 4, maxLength: 60 }), fc.integer(), (labels, seed) => {
        const units = single(labels);
        const assigned = foldsOf(units, 4, seed);
        expect(new Set(assigned).size).toBe(4);
        const counts = ['a', 'b', 'c'].map((label) => ({
          label,
          rows: labels.filter((own) => own.some((each) => each === label)).length,
        }));
        // The rarest is dealt out first; of two that are equally rare, either.
        const [rarest, next] = counts.filter(({ rows }) => rows > 0).sort((x, y) => x.rows - y.rows);
        if (rarest === undefined || rarest.rows === next?.rows) return;
        expect(spread(countsOf(units, assigned, 4, rarest.label))).toBeLessThanOrEqual(1);
      }),
    );
  });
});

describe('rows that belong together', () => {
  const labelled = (text: string, label: string) => ({ text, labels: [label], entities: [], passages: [] });

  it('are those of one group or with one text, case and spacing aside, and all that these join', () => {
    const rows = ['Hello  there', 'hello there', 'good', 'bad', 'good', 'fine'].map((text) => labelled(text, 'x'));
    const together = (groups?: readonly string[]) => runToEnd(unitsOf(rows, groups)).map((unit) => unit.rows);
    expect(together()).toEqual([[0, 1], [2, 4], [3], [5]]);
    expect(together(['ann', 'bob', 'bob', 'eve', 'zoe', 'eve'])).toEqual([
      [0, 1, 2, 4],
      [3, 5],
    ]);
  });

  it('are never torn apart, and no fold has more than its share and the largest group', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 8 }), { minLength: 30, maxLength: 80 }),
        fc.integer(),
        (groups, seed) => {
          const rows = groups.map((_, row) => labelled(`text ${row}`, row % 3 ? 'a' : 'b'));
          const units = runToEnd(unitsOf(rows, groups.map(String)));
          fc.pre(units.length >= 3);
          const assigned = foldsOf(units, 3, seed);
          const foldOfGroup = new Map<number, number>();
          const sizes = [0, 0, 0];
          for (const [at, unit] of units.entries()) {
            for (const row of unit.rows) {
              const [group = -1, fold = -1] = [groups[row], assigned[at]];
              expect(foldOfGroup.get(group) ?? fold).toBe(fold);
              foldOfGroup.set(group, fold);
              sizes[fold] = (sizes[fold] ?? 0) + 1;
            }
          }
          const largest = Math.max(...units.map((unit) => unit.rows.length));
          expect(Math.max(...sizes)).toBeLessThanOrEqual(Math.ceil(groups.length / 3) + 2 * largest);
        },
      ),
    );
  });
});

describe('figures over folds', () => {
  it('are mean, deviation and the ends', () => {
    const folds = [0.5, 0.7, 0.9].map((accuracy) => ({ figures: { accuracy } }));
    const [accuracy] = figuresOverFolds(folds);
    expect(accuracy).toMatchObject({ name: 'accuracy', lowest: 0.5, highest: 0.9 });
    expect(accuracy?.mean).toBeCloseTo(0.7, 12);
    expect(accuracy?.deviation).toBeCloseTo(0.2, 12);
  });
});

describe('doubtful rows', () => {
  const answer = (scores: Readonly<Record<string, number>>): LabelAnswer => {
    const sorted = Object.entries(scores)
      .map(([label, score]) => ({ label, score }))
      .sort((a, b) => b.score - a.score);
    const [{ label, score } = { label: '', score: 0 }] = sorted;
    return { kind: 'labels', label, score, labels: [label], scores: sorted };
  };
  const row = (at: number, labels: readonly string[], scores: Readonly<Record<string, number>>): AnsweredRow => ({
    row: at,
    example: { text: `text ${at}`, labels, entities: [], passages: [] },
    answers: [answer(scores)],
  });

  it('have a label that is not the most probable, and are ordered by its probability', () => {
    const rows = [
      row(0, ['a'], { a: 0.5, b: 0.3, c: 0.2 }),
      row(1, ['a'], { a: 0.1, b: 0.5, c: 0.4 }),
      row(2, ['b'], { a: 0.1, b: 0.9, c: 0 }),
      // A larger lead of the suggestion, but a more probable label.
      row(3, ['b'], { a: 0.8, b: 0.15, c: 0.05 }),
    ];
    const found = doubtfulRows(rows, false);
    expect(found.map((each) => [each.row, each.given, each.suggested, each.probability])).toEqual([
      [1, ['a'], ['b'], 0.1],
      [3, ['b'], ['a'], 0.15],
    ]);
    expect(found[0]?.score).toBeCloseTo(0.4, 12);
    expect(found[1]?.score).toBeCloseTo(0.65, 12);
  });

  it('may lack a label or have one too many, where rows have several', () => {
    const rows = [
      row(0, ['a'], { a: 0.9, b: 0.1 }),
      row(1, ['a', 'b'], { a: 0.8, b: 0.9 }),
      row(2, ['b'], { a: 0.1, b: 0.8 }),
      row(3, [], { a: 0.95, b: 0.1 }),
      row(4, ['b'], { a: 0.1, b: 0.02 }),
    ];
    const found = doubtfulRows(rows, true);
    expect(found.map((each) => [each.row, each.given, each.suggested])).toEqual([
      [4, ['b'], []],
      [3, [], ['a']],
    ]);
    expect(found[0]?.probability).toBe(0.02);
    expect(found[0]?.score).toBeCloseTo(0.96, 12);
  });

  it('are sentences with an entity that they lack, and questions with another passage', () => {
    const entity = { start: 0, end: 4, type: 'PER' };
    const found = { ...entity, text: 'Anna', score: 0.8 };
    const example = { text: 'Anna left', labels: [], passages: [] };
    const sentences: AnsweredRow[] = [
      { row: 0, example: { ...example, entities: [] }, answers: [{ kind: 'entities', entities: [found] }] },
      {
        row: 1,
        example: { ...example, entities: [entity] },
        answers: [{ kind: 'entities', entities: [found] }],
      },
    ];
    expect(doubtfulRows(sentences, false)).toEqual([
      {
        row: 0,
        text: 'Anna left',
        given: [],
        suggested: ['Anna (PER)'],
        probability: expect.closeTo(0.2, 12),
        score: 0.8,
      },
    ]);
    const passages = [
      { text: 'other', score: 0.6 },
      { text: 'own', score: 0.1 },
    ];
    const question = { text: 'why?', labels: [], entities: [], passages: ['own'] };
    expect(doubtfulRows([{ row: 7, example: question, answers: [{ kind: 'passages', passages }] }], false)).toEqual([
      { row: 7, text: 'why?', given: ['own'], suggested: ['other'], probability: 0.1, score: 0.5 },
    ]);
  });
});
