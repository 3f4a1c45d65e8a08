import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeVectors, VectorIndex } from '../../../src/families/index.js';
import { encodeSafetensors } from '../../../src/models/index.js';
import { Random } from '../../../src/system/numbers.js';
import { failureOf } from '../../support/outcomes.js';

function unitVectors(count: number, width: number, seed: number): Float32Array[] {
  const random = Random.fromSeed(seed);
  return Array.from({ length: count }, () => {
    const vector = Array.from({ length: width }, () => random.normal());
    const length = Math.hypot(...vector);
    return Float32Array.from(vector, (element) => element / length);
  });
}

function indexOf(vectors: readonly Float32Array[], width: number): VectorIndex {
  return VectorIndex.fromVectors(Float32Array.from(vectors.flatMap((vector) => [...vector])), width);
}

/** In float64: the dot product of every vector with the query, by id. */
function allScores(vectors: readonly Float32Array[], query: Float32Array): number[] {
  return vectors.map((vector) => vector.reduce((sum, element, i) => sum + element * (query[i] ?? 0), 0));
}

function bruteForce(vectors: readonly Float32Array[], query: Float32Array, k: number): number[] {
  const scores = allScores(vectors, query);
  const ids = [...vectors.keys()].sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b);
  return ids.slice(0, k);
}

const idsOf = (found: readonly { id: number }[]) => found.map(({ id }) => id);

describe('VectorIndex', () => {
  it('finds what brute force finds, whatever the width, in either mode', () => {
    const cases = fc.record({
      count: fc.integer({ min: 0, max: 40 }),
      width: fc.integer({ min: 2, max: 50 }),
      k: fc.integer({ min: 0, max: 50 }),
      seed: fc.nat(1000),
    });
    fc.assert(
      fc.property(cases, ({ count, width, k, seed }) => {
        const [query = new Float32Array(width), ...vectors] = unitVectors(count + 1, width, seed);
        const index = indexOf(vectors, width);
        expect(idsOf(index.search(query, k))).toEqual(bruteForce(vectors, query, k));
        expect(idsOf(index.searchExact(query, k))).toEqual(bruteForce(vectors, query, k));
      }),
      { numRuns: 50 },
    );
  });

  it('finds the same by bytes and exact rescoring among thousands', () => {
    const vectors = unitVectors(5000, 40, 3);
    const index = indexOf(vectors, 40);
    for (const query of unitVectors(20, 40, 4)) {
      expect(index.search(query, 10)).toEqual(index.searchExact(query, 10));
      expect(idsOf(index.search(query, 10))).toEqual(bruteForce(vectors, query, 10));
    }
  });

  it('finds the same where one vector is much longer than the others, or many are equally near', () => {
    const vectors = unitVectors(3000, 24, 12);
    const long = vectors[7]?.map((element) => 300 * element) ?? new Float32Array(24);
    const same = vectors[8] ?? new Float32Array(24);
    const index = indexOf([...vectors, long, ...Array(500).fill(same)], 24);
    for (const query of [...unitVectors(5, 24, 13), same]) {
      expect(index.search(query, 100)).toEqual(index.searchExact(query, 100));
    }
  });

  it('gives scores that are exact to float32', () => {
    const [query = new Float32Array(), ...vectors] = unitVectors(301, 37, 5);
    const index = indexOf(vectors, 37);
    const expected = allScores(vectors, query);
    for (const { id, score } of index.search(query, 5)) expect(score).toBeCloseTo(expected[id] ?? 0, 6);
    for (const [id, score] of index.scores(query).entries()) {
      expect(score).toBeCloseTo(expected[id] ?? Number.NaN, 6);
    }
  });

  it('puts equally near vectors in the order of their ids', () => {
    const [vector = new Float32Array()] = unitVectors(1, 16, 6);
    const index = indexOf(Array(600).fill(vector), 16);
    expect(idsOf(index.search(vector, 4))).toEqual([0, 1, 2, 3]);
  });

  it('gives fewer if there are fewer, and none if there are none', () => {
    const [query = new Float32Array(), ...vectors] = unitVectors(4, 20, 7);
    expect(indexOf(vectors, 20).search(query, 10)).toHaveLength(3);
    expect(indexOf([], 20).search(query, 10)).toEqual([]);
  });

  it('scores the passages that are asked for, in their order', () => {
    const [query = new Float32Array(), ...vectors] = unitVectors(6, 20, 8);
    const index = indexOf(vectors, 20);
    const all = index.scores(query);
    expect([...index.scoresOf(query, Int32Array.of(4, 1))]).toEqual([all[4], all[1]]);
    expect(() => index.scoresOf(query, Int32Array.of(5))).toThrow('id 5: the index has 5 vectors');
  });

  it('accepts vectors of zeros, and searches with one', () => {
    const index = indexOf([new Float32Array(16), ...unitVectors(2, 16, 9)], 16);
    expect(idsOf(index.search(new Float32Array(16), 3))).toEqual([0, 1, 2]);
  });

  it.each([
    ['grows', 0, 500],
    ['has room for those that were announced', 600, 600],
  ])('%s, and answers as one that is made of all vectors at once', (_, expected, capacity) => {
    const [query = new Float32Array(), ...vectors] = unitVectors(401, 17, 9);
    const rest = vectors.slice(101);
    const grown = VectorIndex.empty(17).with(vectors.slice(0, 100), expected).with(vectors.slice(100, 101));
    const index = rest.reduce((index, vector) => index.with([vector]), grown);
    expect(index).toMatchObject({ size: 400, width: 17 });
    expect(index.capacity).toBeGreaterThanOrEqual(400);
    expect(index.capacity).toBeLessThanOrEqual(capacity);
    const whole = indexOf(vectors, 17);
    expect(index.search(query, 7)).toEqual(whole.search(query, 7));
    expect(index.scores(query)).toEqual(whole.scores(query));
    expect(encodeVectors(index)).toEqual(encodeVectors(whole));
  });

  it('refuses vectors and queries of another width', () => {
    expect(() => VectorIndex.fromVectors(new Float32Array(10), 4)).toThrow('not a whole number of vectors of 4');
    const index = indexOf(unitVectors(2, 16, 10), 16);
    expect(() => index.search(new Float32Array(17), 1)).toThrow('a query of 17 elements');
  });
});

describe('a stored VectorIndex', () => {
  it('answers as before', () => {
    const [query = new Float32Array(), ...vectors] = unitVectors(400, 21, 11);
    const index = indexOf(vectors, 21);
    const read = VectorIndex.decode(encodeVectors(index), 'vectors.safetensors');
    expect(read.width).toBe(21);
    expect(read.search(query, 10)).toEqual(index.search(query, 10));
  });

  it('may be empty', () => {
    const read = VectorIndex.decode(encodeVectors(indexOf([], 8)), 'vectors.safetensors');
    expect(read.search(new Float32Array(8), 3)).toEqual([]);
  });

  const stored = (name: string, shape: readonly number[], values: Float32Array) =>
    encodeSafetensors(new Map([[name, { shape, values }]]));

  it.each([
    ['another tensor', stored('weights', [1, 2], Float32Array.of(1, 0)), 'a tensor "vectors"'],
    ['another shape', stored('vectors', [2], Float32Array.of(1, 0)), 'a tensor "vectors"'],
    ['vectors without elements', stored('vectors', [2, 0], new Float32Array()), 'no elements'],
    ['NaN', stored('vectors', [1, 2], Float32Array.of(Number.NaN, 0)), 'not a number'],
    ['numbers that leave float32', stored('vectors', [1, 2], Float32Array.of(3e38, 3e38)), 'too large'],
    ['no vector of a billion elements', stored('vectors', [0, 1e9], new Float32Array()), '1000000000 elements'],
    ['no safetensors at all', new Uint8Array(4), 'not a safetensors file'],
  ])('is refused with its name if it has %s', async (_, bytes, reason) => {
    const error = await failureOf('model_folder', () => VectorIndex.decode(bytes, 'vectors.safetensors'));
    expect(error.message).toContain('vectors.safetensors');
    expect(error.message).toContain(reason);
  });
});
