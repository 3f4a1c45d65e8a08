import { expect, it } from 'vitest';
import { bucketOf } from '../../src/encoder/architectures/mpnet.js';

/** The first distance of each bucket, from MPNetEncoder.relative_position_bucket of transformers 5.23 (PyTorch 2.15). */
const starts = [
  ...[-600, 15, -90, 14, -63, 13, -45, 12, -31, 11, -22, 10, -15, 9, -11, 8, -7, 7, -6, 6, -5, 5, -4, 4],
  ...[-3, 3, -2, 2, -1, 1, 0, 0, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 12, 25, 16, 26],
  ...[23, 27, 32, 28, 46, 29, 64, 30, 91, 31, 601, -1],
];

it("puts each distance of two tokens into transformers' bucket", () => {
  for (let at = 0; at + 2 < starts.length; at += 2) {
    const [from = 0, bucket, to = 0] = starts.slice(at);
    for (let distance = from; distance < to; distance += 1) {
      expect([distance, bucketOf(distance)]).toEqual([distance, bucket]);
    }
  }
});
