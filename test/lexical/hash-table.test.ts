import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HashTable } from '../../src/lexical/hash-table.js';

/** Few different ones among them, and many that begin their search at the same slot. */
const hash = fc.oneof(
  fc.integer({ min: -4, max: 4 }),
  fc.integer({ min: 0, max: 40 }).map((n) => n << 26),
);

describe('HashTable', () => {
  it('finds the numbers of those that it has, in the order in which they were asked for', () => {
    const distinct = fc.uniqueArray(hash, { maxLength: 30 });
    fc.assert(
      fc.property(distinct, fc.array(hash, { maxLength: 60 }), (known, asked) => {
        const table = HashTable.of(Int32Array.from(known));
        const numbers = new Int32Array(asked.length + 2).fill(-9);
        const end = table.findAll(Int32Array.from(asked), 1, asked.length, numbers, 2);
        const expected = asked.slice(1).map((each) => known.indexOf(each));
        expect([...numbers.subarray(2, Math.max(2, end))]).toEqual(expected.filter((number) => number >= 0));
        expect([...numbers.subarray(0, 2)]).toEqual([-9, -9]);
        expect(asked.map((each) => table.find(each))).toEqual(asked.map((each) => known.indexOf(each)));
      }),
    );
  });

  it('gives up where hashes were chosen to belong in the same slot', () => {
    // The slot of a hash is that of (hash ^ hash >>> 16) times an odd number: multiples of a large power of 2 share their lowest bits.
    const sharing = Int32Array.from({ length: 1 << 17 }, (_, at) => {
      const mixed = at << 15;
      return mixed ^ (mixed >>> 16);
    });
    expect(HashTable.of(sharing).size).toBeLessThan(sharing.length);
    const spread = Int32Array.from({ length: 1 << 17 }, (_, at) => Math.imul(at, 0x9e3779b1));
    expect(HashTable.of(spread).size).toBe(spread.length);
  });
});
