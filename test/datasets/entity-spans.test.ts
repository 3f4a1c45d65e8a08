import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Offsets, settleSpans } from '../../src/datasets/entity-spans.js';

/** Places of entities, however they are counted. */

const word = fc.stringMatching(/^[a-zà-ü]{1,6}$/u);
const between = fc.constantFrom(' ', ' 😀 ', ' — ', ', ', ' 👩‍👩‍👧 ');

/** Texts of words; one or two words of each are entities. In UTF-16 code units. */
const row = fc
  .array(fc.tuple(word, between), { minLength: 2, maxLength: 8 })
  .chain((parts) => fc.tuple(fc.constant(parts), fc.nat(parts.length - 1)))
  .map(([parts, chosen]) => {
    const before = parts
      .slice(0, chosen)
      .map(([said, gap]) => said + gap)
      .join('');
    const text = parts.map(([said, gap]) => said + gap).join('');
    const start = before.length;
    const place = { start, end: start + (parts[chosen]?.[0].length ?? 0) };
    return { text, entities: [{ ...place, type: 'X' }], doubts: [{ ...place, tags: { 'B-X': 1 } }] };
  });

const counts: Readonly<Record<Offsets, (text: string) => number>> = {
  'utf-16': (text) => text.length,
  'code-points': (text) => [...text].length,
  bytes: (text) => Buffer.byteLength(text),
};

describe.each(['utf-16', 'code-points', 'bytes'] as const)('places in %s', (offsets) => {
  const count = counts[offsets];

  it('become those of the same words in UTF-16 code units', () => {
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 20 }), (rows) => {
        const written = rows.map(({ text, entities, doubts }) => {
          const counted = <Placed extends { start: number; end: number }>({ start, end, ...placed }: Placed) => ({
            ...{ ...placed, start: count(text.slice(0, start)), end: count(text.slice(0, end)) },
          });
          return { text, entities: entities.map(counted), doubts: doubts.map(counted) };
        });
        expect(settleSpans(written, offsets).rows).toEqual(rows);
      }),
    );
  });
});

describe('places that fit no words', () => {
  const text = 'Ada saw Prague and Ghent today';
  const spans = (...places: (readonly [number, number])[]) => [
    { text, entities: places.map(([start, end]) => ({ start, end, type: 'X' })) },
  ];

  it('are refused with examples, or with what is wrong of the ends', () => {
    expect(settleSpans(spans([8, 13], [19, 23])).problem).toMatchObject({
      found: '2 of 2 entities begin or end inside a word: "Pragu" of "Prague", "Ghen" of "Ghent"',
      expected: expect.stringContaining('add 1 to each end'),
    });
    expect(settleSpans(spans([9, 13], [20, 23])).problem?.expected).toContain("offsets: 'code-points'");
  });

  it('are refused with the way of counting that most of them fit', () => {
    const marked = `😀 ${text}`;
    const rowWith = (start: number, end: number) => ({ text: marked, entities: [{ start, end, type: 'X' }] });
    const { problem } = settleSpans([...Array.from({ length: 8 }, () => rowWith(21, 26)), rowWith(22, 26)]);
    expect(problem?.found).toMatch(/^9 of 9 entities begin or end inside a word/);
    expect(problem?.expected).toMatch(/most of these fit code points: .* `offsets: 'code-points'`$/);
  });

  it('are a warning if they are few', () => {
    const rows = Array.from({ length: 10 }, () => spans([0, 3], [8, 14])).flat();
    const { problem, warnings } = settleSpans([...rows, ...spans([9, 14])]);
    expect(problem).toBeUndefined();
    expect(warnings).toMatchObject([{ kind: 'misplaced_entity', count: 1 }]);
  });

  it('are taken as they are if the caller says how they count', () => {
    expect(settleSpans(spans([8, 13]), 'utf-16').problem).toBeUndefined();
  });

  it('may be those of scripts without spaces between words', () => {
    const rows = [{ text: '東京に行きました', entities: [{ start: 0, end: 2, type: 'LOC' }] }];
    expect(settleSpans(rows)).toEqual({ rows, warnings: [] });
  });
});
