import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Arena, type Kernels, loadKernels } from '../../../src/engine/index.js';

const GUARD = 12345;

/** An arena whose views are followed by a guard value, so that a write beyond the end shows. */
class Bench {
  readonly #arena = new Arena(1 << 20);
  readonly #guards: Float32Array[] = [];
  readonly kernels: Kernels = loadKernels(this.#arena);

  floats(values: ArrayLike<number>): Float32Array {
    const view = this.#arena.float32(values.length + 4);
    view.set(values);
    view.fill(GUARD, values.length);
    this.#guards.push(view.subarray(values.length));
    return view.subarray(0, values.length);
  }

  ids(values: ArrayLike<number>): Int32Array {
    const view = this.#arena.int32(values.length);
    view.set(values);
    return view;
  }

  expectGuardsIntact(): void {
    for (const guard of this.#guards) expect([...guard]).toEqual([GUARD, GUARD, GUARD, GUARD]);
  }
}

/** Counts around the vector width and well beyond it. */
const count = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 21, max: 700 }));
const f32 = fc.float({ min: -100, max: 100, noNaN: true });
const floatsOf = (length: number) => fc.array(f32, { minLength: length, maxLength: length });
const twoArrays = count.chain((length) => fc.tuple(floatsOf(length), floatsOf(length)));

/** Every element within `relative` · (1 + |expected|). */
function expectClose(actual: Float32Array, expected: readonly number[], relative: number): void {
  expect(actual.length).toBe(expected.length);
  const errors = expected.map((value, i) => Math.abs((actual[i] ?? Number.NaN) - value) / (1 + Math.abs(value)));
  expect(Math.max(0, ...errors)).toBeLessThanOrEqual(relative);
}

describe('fill', () => {
  it('sets every element and nothing beyond', () => {
    fc.assert(
      fc.property(count, f32, (length, value) => {
        const bench = new Bench();
        const target = bench.floats(new Float32Array(length));
        bench.kernels.fill(target, value);
        expect(target.every((element) => element === value)).toBe(true);
        bench.expectGuardsIntact();
      }),
    );
  });
});

describe('accumulate', () => {
  it('adds the weighted addend, rounding to f32 after each operation', () => {
    fc.assert(
      fc.property(twoArrays, f32, ([before, addend], weight) => {
        const bench = new Bench();
        const target = bench.floats(before);
        bench.kernels.accumulate(target, bench.floats(addend), weight);
        // One f32 operation in float64, then rounded, is what f32 arithmetic gives.
        const scaled = addend.map((value) => Math.fround(weight * value));
        expect([...target]).toEqual(before.map((value, i) => Math.fround(value + (scaled[i] ?? 0))));
        bench.expectGuardsIntact();
      }),
    );
  });

  it('adds the addend itself by default', () => {
    const bench = new Bench();
    const target = bench.floats([1, 2, 3, 4, 5]);
    bench.kernels.accumulate(target, bench.floats([10, 20, 30, 40, 50]));
    expect([...target]).toEqual([11, 22, 33, 44, 55]);
  });
});

describe('sumOfSquares', () => {
  it('sums in float64', () => {
    fc.assert(
      fc.property(count.chain(floatsOf), (values) => {
        const bench = new Bench();
        const expected = values.reduce((sum, value) => sum + value * value, 0);
        expect(bench.kernels.sumOfSquares(bench.floats(values))).toBeCloseTo(expected, 6);
      }),
    );
  });

  it('keeps what a float32 sum would lose, and squares beyond the range of float32', () => {
    const bench = new Bench();
    const large = 4096;
    const values = [large, ...new Array<number>(100).fill(0.5)];
    expect(bench.kernels.sumOfSquares(bench.floats(values))).toBe(large ** 2 + 25);
    const huge = 2 ** 100;
    expect(bench.kernels.sumOfSquares(bench.floats([huge, huge, huge]))).toBe(3 * huge ** 2);
  });

  it('passes on NaN and infinity', () => {
    const bench = new Bench();
    expect(bench.kernels.sumOfSquares(bench.floats([1, Number.NaN]))).toBeNaN();
    expect(bench.kernels.sumOfSquares(bench.floats([1, Number.NEGATIVE_INFINITY]))).toBe(Infinity);
  });
});

describe('adamW', () => {
  const scalars = {
    gradientScale: 0.5,
    beta1: 0.9,
    beta2: 0.999,
    shrink: 0.99,
    stepSize: 0.01,
    rootScale: 1.5,
    epsilon: 1e-8,
  };
  const fourArrays = count.chain((length) =>
    fc.tuple(floatsOf(length), floatsOf(length), floatsOf(length), floatsOf(length)),
  );

  it('updates weights and moments as float64 would but for rounding to f32', () => {
    fc.assert(
      fc.property(fourArrays, ([w, gradient, m, roots]) => {
        const bench = new Bench();
        const v = roots.map((root) => Math.fround(root * root));
        const arrays = {
          weights: bench.floats(w),
          gradients: bench.floats(gradient),
          firstMoments: bench.floats(m),
          secondMoments: bench.floats(v),
        };
        bench.kernels.adamW(arrays, scalars);

        const g = gradient.map((value) => 0.5 * value);
        const nextM = m.map((value, i) => 0.9 * value + 0.1 * (g[i] ?? 0));
        const nextV = v.map((value, i) => 0.999 * value + 0.001 * (g[i] ?? 0) ** 2);
        expectClose(arrays.firstMoments, nextM, 1e-5);
        expectClose(arrays.secondMoments, nextV, 1e-6);
        expect([...arrays.gradients]).toEqual(gradient);
        // From the moments as stored: what is left to compare is the last line of the algorithm.
        const steps = Array.from(arrays.firstMoments, (value, i) => {
          return (0.01 * value) / (Math.sqrt(arrays.secondMoments[i] ?? 0) * 1.5 + 1e-8);
        });
        const relative = 1e-6 * Math.max(1, ...steps.map(Math.abs));
        expectClose(
          arrays.weights,
          w.map((value, i) => 0.99 * value - (steps[i] ?? 0)),
          relative,
        );
        bench.expectGuardsIntact();
      }),
    );
  });

  it('leaves padding at zero', () => {
    const bench = new Bench();
    const zeros = () => bench.floats([0, 0, 0, 0, 0]);
    const arrays = { weights: zeros(), gradients: zeros(), firstMoments: zeros(), secondMoments: zeros() };
    bench.kernels.adamW(arrays, scalars);
    expect([...arrays.weights, ...arrays.firstMoments, ...arrays.secondMoments]).toEqual(new Array(15).fill(0));
  });
});

describe('scatterAddRows and zeroRows', () => {
  const TABLE_ROWS = 9;
  const scatter = fc
    .tuple(fc.integer({ min: 1, max: 11 }), fc.array(fc.nat(TABLE_ROWS - 1), { maxLength: 30 }))
    .chain(([width, ids]) => fc.tuple(fc.constant(width), fc.constant(ids), floatsOf(ids.length * width)));

  it('adds each row to the row of its id, even for repeated ids', () => {
    fc.assert(
      fc.property(scatter, ([width, ids, rows]) => {
        const bench = new Bench();
        const table = bench.floats(new Float32Array(TABLE_ROWS * width));
        bench.kernels.scatterAddRows(table, width, bench.ids(ids), bench.floats(rows));
        const expected = new Float32Array(TABLE_ROWS * width);
        rows.forEach((value, index) => {
          const at = (ids[Math.floor(index / width)] ?? 0) * width + (index % width);
          expected[at] = (expected[at] ?? 0) + value;
        });
        expect(table).toEqual(expected);
        bench.expectGuardsIntact();
      }),
    );
  });

  it('makes the table zero again when given the same ids', () => {
    fc.assert(
      fc.property(scatter, ([width, ids, rows]) => {
        const bench = new Bench();
        const table = bench.floats(new Float32Array(TABLE_ROWS * width));
        const idView = bench.ids(ids);
        bench.kernels.scatterAddRows(table, width, idView, bench.floats(rows));
        bench.kernels.zeroRows(table, width, idView);
        expect(table.every((value) => value === 0)).toBe(true);
        bench.expectGuardsIntact();
      }),
    );
  });

  it('zeroes only the rows that are named', () => {
    const bench = new Bench();
    const table = bench.floats([1, 1, 2, 2, 3, 3]);
    bench.kernels.zeroRows(table, 2, bench.ids([1]));
    expect([...table]).toEqual([1, 1, 0, 0, 3, 3]);
  });

  it.each([3, -1])('names the id %i that has no row, and writes nothing', (id) => {
    const bench = new Bench();
    const table = bench.floats([1, 1, 2, 2, 3, 3]);
    const ids = bench.ids([0, id]);
    const message = `ids[1] is ${id}: the table has rows 0 to 2`;
    expect(() => bench.kernels.scatterAddRows(table, 2, ids, bench.floats([5, 5, 5, 5]))).toThrow(message);
    expect(() => bench.kernels.zeroRows(table, 2, ids)).toThrow(message);
    expect([...table]).toEqual([1, 1, 2, 2, 3, 3]);
  });

  it('refuses shapes that do not fit', () => {
    const bench = new Bench();
    const table = bench.floats([1, 1, 1, 1]);
    const ids = bench.ids([0]);
    expect(() => bench.kernels.zeroRows(table, 3, ids)).toThrow('not a whole number of rows of 3');
    expect(() => bench.kernels.scatterAddRows(table, 2, ids, bench.floats([1]))).toThrow(
      'rows: 1 elements, expected 2',
    );
  });
});

describe('views', () => {
  it('must lie in the arena of the kernels', () => {
    const bench = new Bench();
    const elsewhere = new Float32Array(4);
    expect(() => bench.kernels.fill(elsewhere, 1)).toThrow('target: not a view of this arena');
    expect(() => bench.kernels.sumOfSquares(new Arena(64).float32(4))).toThrow('values: not a view');
  });

  it('must have one length', () => {
    const bench = new Bench();
    expect(() => bench.kernels.accumulate(bench.floats([1, 2]), bench.floats([1]))).toThrow(
      'addend: 1 elements, expected 2',
    );
  });
});
