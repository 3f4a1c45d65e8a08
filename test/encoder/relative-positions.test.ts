import { describe, expect, it } from 'vitest';
import { type RelativePositions, rowOfDistance } from '../../src/encoder/architectures/deberta-v2.js';

describe('the row of a distance in the table of relative positions', () => {
  // By build_relative_position of transformers 5.23.0, clamped as its attention does.
  it.each<[RelativePositions, [distance: number, row: number][]]>([
    [
      { buckets: 256, largest: 512 },
      [
        [-511, 1],
        [-400, 23],
        [-128, 128],
        [-1, 255],
        [0, 256],
        [127, 383],
      ],
    ],
    [
      { buckets: 256, largest: 512 },
      [
        [129, 385],
        [200, 425],
        [300, 463],
        [511, 511],
      ],
    ],
    [
      { buckets: 4, largest: 16 },
      [
        [-15, 1],
        [-2, 2],
        [2, 6],
        [3, 7],
        [15, 7],
      ],
    ],
    [
      { buckets: 0, largest: 512 },
      [
        [-400, 112],
        [0, 512],
        [511, 1023],
      ],
    ],
  ])('with %j is that of transformers', (positions, rows) => {
    expect(rows.map(([distance]) => [distance, rowOfDistance(positions, distance)])).toEqual(rows);
  });

  it('is the outermost one for whatever is farther', () => {
    const positions = { buckets: 0, largest: 8 };
    expect([-100, 100].map((distance) => rowOfDistance(positions, distance))).toEqual([0, 15]);
  });
});
