import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Arena, loadKernels } from '../../src/engine/index.js';
import { HashTable } from '../../src/lexical/hash-table.js';

/** Few different ones among them, and many that begin their search at the same slot. */
const hash = fc.oneof(
  fc.integer({ min: -4, max: 4 }),
  fc.integer({ min: 0, max: 40 }).map((n) => n << 26),
);

describe('HashTable', () => {
  it('finds the numbers of those that it has, also in a kernel', () => {
    const distinct = fc.uniqueArray(hash, { maxLength: 30 });
    const bagsOf = fc.array(fc.array(hash, { maxLength: 20 }), { maxLength: 4 });
    fc.assert(
      fc.property(distinct, bagsOf, (known, asked) => {
        const arena = new Arena(1 << 14);
        const kernels = loadKernels(arena);
        const table = HashTable.of(Int32Array.from(known), arena, kernels);
        const numbersOf = (hashes: readonly number[]) => hashes.map((each) => known.indexOf(each));
        expect(asked.flat().map((each) => table.find(each))).toEqual(numbersOf(asked.flat()));
        const given = arena.int32(asked.flat().length);
        given.set(asked.flat());
        const bags = { ids: arena.int32(given.length + 1).fill(-9), starts: arena.int32(asked.length + 1) };
        for (const [bag, { length }] of asked.entries()) bags.starts[bag + 1] = (bags.starts[bag] ?? 0) + length;
        kernels.findBags(table.slots, given, bags, asked.length);
        const found = asked.map((_, bag) => [...bags.ids.subarray(bags.starts[bag], bags.starts[bag + 1])]);
        expect(found).toEqual(asked.map((each) => numbersOf(each).filter((number) => number >= 0)));
        expect(bags.ids.at(-1)).toBe(-9);
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
