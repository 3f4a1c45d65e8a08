import { expect, it } from 'vitest';
import { repeatedPositions } from '../../models/recipes/backbones/export-backbone.js';

it('repeats the trained positions but the first, of [CLS], to the end', () => {
  const trained = Float32Array.from({ length: 64 }, (_, position) => position);
  const values = Float32Array.from({ length: 200 }, (_, position) => trained[position] ?? -1);
  const repeated = repeatedPositions({ shape: [200, 1], values }).values;
  expect(repeated.slice(0, 64)).toEqual(trained);
  expect([...repeated.slice(64, 67)]).toEqual([1, 2, 3]);
  expect([repeated[126], repeated[127], repeated[199]]).toEqual([63, 1, 10]);
});
