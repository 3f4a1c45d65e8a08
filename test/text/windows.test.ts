import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Encoding, encodingWindows } from '../../src/text/index.js';

interface Shape {
  /** Special tokens before the text, and behind it. */
  readonly before: number;
  readonly after: number;
  readonly pieces: number;
  readonly maxLength: number;
  readonly overlap: number;
}

/** Specials have ids from 1 on, piece n has the id 100 + n and the characters 3n to 3n + 2. */
function encodingOf({ before, after, pieces }: Pick<Shape, 'before' | 'after' | 'pieces'>): Encoding {
  const length = before + pieces + after;
  const numbers = Array.from({ length }, (_, token) => token - before);
  const isPiece = (number: number) => number >= 0 && number < pieces;
  return {
    ids: Int32Array.from(numbers, (number, token) => (isPiece(number) ? 100 + number : 1 + token)),
    typeIds: Int32Array.from(numbers, (number) => (isPiece(number) ? 0 : 1)),
    sequenceIds: Int32Array.from(numbers, (number) => (isPiece(number) ? 0 : -1)),
    offsets: Int32Array.from(numbers.flatMap((number) => (isPiece(number) ? [3 * number, 3 * number + 2] : [0, 0]))),
    truncated: 0,
  };
}

/** Windows with room for at least one new piece. */
const shapes: fc.Arbitrary<Shape> = fc
  .record({
    before: fc.nat(2),
    after: fc.nat(2),
    pieces: fc.nat(60),
    maxLength: fc.integer({ min: 1, max: 30 }),
    overlap: fc.nat(12),
  })
  .filter(({ before, after, maxLength, overlap }) => maxLength - before - after > overlap);

const piecesOf = ({ ids }: Encoding) => [...ids].filter((id) => id >= 100).map((id) => id - 100);

describe('encodingWindows', () => {
  it('leaves an encoding that fits as it is', () => {
    const encoding = encodingOf({ before: 1, after: 1, pieces: 8 });
    expect(encodingWindows(encoding, 10, 3)).toEqual([encoding]);
  });

  it('cuts ten pieces into windows of four that share two, by hand', () => {
    const windows = encodingWindows(encodingOf({ before: 1, after: 1, pieces: 10 }), 6, 2);
    expect(windows.map(piecesOf)).toEqual([
      [0, 1, 2, 3],
      [2, 3, 4, 5],
      [4, 5, 6, 7],
      [6, 7, 8, 9],
    ]);
    expect([...(windows[1]?.offsets ?? [])]).toEqual([0, 0, 6, 8, 9, 11, 12, 14, 15, 17, 0, 0]);
  });

  it('moves the last window back, so that it is as full as the others', () => {
    const windows = encodingWindows(encodingOf({ before: 1, after: 1, pieces: 7 }), 6, 1);
    expect(windows.map(piecesOf)).toEqual([
      [0, 1, 2, 3],
      [3, 4, 5, 6],
    ]);
    expect(encodingWindows(encodingOf({ before: 1, after: 1, pieces: 6 }), 6, 1).map(piecesOf)).toEqual([
      [0, 1, 2, 3],
      [2, 3, 4, 5],
    ]);
  });

  it('has every piece in a window, the overlap between neighbours, and no window that is too long', () => {
    fc.assert(
      fc.property(shapes, (shape) => {
        const windows = encodingWindows(encodingOf(shape), shape.maxLength, shape.overlap);
        const found = new Set(windows.flatMap(piecesOf));
        expect([...found]).toEqual(Array.from({ length: shape.pieces }, (_, piece) => piece));
        for (const [at, window] of windows.entries()) {
          expect(window.ids.length).toBeLessThanOrEqual(shape.maxLength);
          const next = windows[at + 1];
          if (next === undefined) continue;
          const mine = new Set(piecesOf(window));
          expect(piecesOf(next).filter((piece) => mine.has(piece)).length).toBeGreaterThanOrEqual(shape.overlap);
          expect(piecesOf(next).some((piece) => !mine.has(piece))).toBe(true);
        }
      }),
    );
  });

  it('keeps the special tokens around every window, and each token with all that belongs to it', () => {
    fc.assert(
      fc.property(shapes, (shape) => {
        const whole = encodingOf(shape);
        for (const window of encodingWindows(whole, shape.maxLength, shape.overlap)) {
          const [first = 0] = piecesOf(window);
          const length = window.ids.length - shape.before - shape.after;
          const places = [...whole.ids.keys()].filter(
            (token) =>
              token < shape.before ||
              token >= shape.before + shape.pieces ||
              (token >= shape.before + first && token < shape.before + first + length),
          );
          expect([...window.ids]).toEqual(places.map((token) => whole.ids[token]));
          expect([...window.typeIds]).toEqual(places.map((token) => whole.typeIds[token]));
          expect([...window.sequenceIds]).toEqual(places.map((token) => whole.sequenceIds[token]));
          expect([...(window.offsets ?? [])]).toEqual(
            places.flatMap((token) => [...(whole.offsets ?? []).slice(2 * token, 2 * token + 2)]),
          );
        }
      }),
    );
  });

  it('keeps unknown offsets unknown', () => {
    const encoding = { ...encodingOf({ before: 1, after: 1, pieces: 9 }), offsets: null };
    expect(encodingWindows(encoding, 6, 1).map(({ offsets }) => offsets)).toEqual([null, null, null]);
  });

  it('refuses windows without room for a new piece', () => {
    const encoding = encodingOf({ before: 1, after: 1, pieces: 9 });
    expect(() => encodingWindows(encoding, 6, 4)).toThrow(RangeError);
    expect(() => encodingWindows(encoding, 2, 0)).toThrow(RangeError);
  });
});
