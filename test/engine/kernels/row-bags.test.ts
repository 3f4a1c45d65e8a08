import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Arena, loadKernels } from '../../../src/engine/index.js';

const ROWS = 6;

/** Bags of row numbers, empty ones and repeated numbers too, over a table of 4 or 8 columns. */
const problem = fc
  .record({
    width: fc.constantFrom(4, 8),
    bags: fc.array(fc.array(fc.nat({ max: ROWS - 1 }), { maxLength: 7 }), { minLength: 1, maxLength: 5 }),
  })
  .chain(({ width, bags }) => {
    const values = (rows: number) =>
      fc.array(fc.float({ min: -2, max: 2, noNaN: true }), {
        minLength: rows * width,
        maxLength: rows * width,
      });
    return fc.record({
      width: fc.constant(width),
      bags: fc.constant(bags),
      table: values(ROWS),
      gradients: values(bags.length),
    });
  });

function memoryOf({ bags, table, gradients }: { bags: number[][]; table: number[]; gradients: number[] }) {
  const arena = new Arena(1 << 16);
  const floats = (values: readonly number[]) => {
    const view = arena.float32(values.length);
    view.set(values);
    return view;
  };
  const ids = arena.int32(bags.flat().length);
  ids.set(bags.flat());
  const starts = arena.int32(bags.length + 1);
  for (const [index, bag] of bags.entries()) starts[index + 1] = (starts[index] ?? 0) + bag.length;
  return {
    kernels: loadKernels(arena),
    bags: { ids, starts },
    table: floats(table),
    gradients: floats(gradients),
    squares: floats(table.map(() => 0.5)),
  };
}

function expectClose(actual: Float32Array, expected: readonly number[]): void {
  expect(actual).toHaveLength(expected.length);
  for (const [at, value] of expected.entries()) expect(actual[at]).toBeCloseTo(value, 4);
}

describe('sumRows', () => {
  it('adds up the rows of each bag', () => {
    fc.assert(
      fc.property(problem, (given) => {
        const { kernels, bags, table, gradients: sums } = memoryOf(given);
        kernels.sumRows(table, bags, sums);
        const { width } = given;
        const expected = given.bags.flatMap((bag) =>
          Array.from({ length: width }, (_, column) =>
            bag.reduce((sum, id) => sum + (given.table[id * width + column] ?? Number.NaN), 0),
          ),
        );
        expectClose(sums, expected);
      }),
    );
  });
});

describe('byteRowSums', () => {
  const byteProblem = fc
    .record({
      stride: fc.constantFrom(1, 2, 3, 4, 7, 8, 11, 16, 18, 20, 27, 32),
      bags: fc.array(fc.array(fc.nat({ max: ROWS - 1 }), { maxLength: 7 }), { minLength: 1, maxLength: 5 }),
    })
    .chain(({ stride, bags }) => {
      const entries = bags.flat().length;
      // Halves of small whole numbers are added without rounding, whatever the order.
      const halves = (count: number) =>
        fc.array(
          fc.integer({ min: -9, max: 9 }).map((value) => value / 2),
          { minLength: count, maxLength: count },
        );
      return fc.record({
        stride: fc.constant(stride),
        bags: fc.constant(bags),
        bytes: fc.array(fc.integer({ min: -128, max: 127 }), {
          minLength: ROWS * stride,
          maxLength: ROWS * stride,
        }),
        scales: halves(ROWS),
        values: halves(entries),
      });
    });

  function rowsOf({ stride, bags, bytes, scales, values }: ByteProblem) {
    const arena = new Arena(1 << 16);
    const width = Math.ceil(stride / 4) * 4;
    const rows = {
      table: arena.int8(bytes.length),
      stride,
      scales: arena.float32(ROWS),
      bags: { ids: arena.int32(values.length), starts: arena.int32(bags.length + 1) },
      values: arena.float32(values.length),
      sums: arena.float32(bags.length * width + 1).fill(7),
    };
    rows.table.set(bytes);
    rows.scales.set(scales);
    rows.bags.ids.set(bags.flat());
    for (const [index, bag] of bags.entries()) {
      rows.bags.starts[index + 1] = (rows.bags.starts[index] ?? 0) + bag.length;
    }
    rows.values.set(values);
    return { arena, width, rows };
  }

  it('adds up the rows of bytes of each bag, each times its value and its scale', () => {
    fc.assert(
      fc.property(byteProblem, (given) => {
        const { stride, bags, bytes, scales, values } = given;
        const { arena, width, rows } = rowsOf(given);
        loadKernels(arena).byteRowSums(rows)(bags.length);
        const { starts } = rows.bags;
        const expected = bags.flatMap((bag, index) =>
          Array.from({ length: stride }, (_, column) =>
            bag.reduce((sum, id, at) => {
              const value = values[(starts[index] ?? 0) + at] ?? 0;
              return sum + value * (scales[id] ?? 0) * (bytes[id * stride + column] ?? 0);
            }, 0),
          ),
        );
        const sums = bags.flatMap((_, bag) => [...rows.sums.subarray(bag * width, bag * width + stride)]);
        expect(sums.map((sum) => sum + 0)).toEqual(expected.map((sum) => sum + 0));
        expect(rows.sums.at(-1)).toBe(7);
      }),
    );
  });

  it('refuses bags with more entries than there are values', () => {
    const { arena, rows } = rowsOf({ stride: 4, bags: [[0, 1]], bytes: Array(24).fill(1), scales: [], values: [1, 1] });
    rows.bags.starts[1] = 3;
    expect(() => loadKernels(arena).byteRowSums(rows)(1)).toThrow('1 bags of 3 entries');
    rows.bags.starts[1] = 2;
    expect(() => loadKernels(arena).byteRowSums(rows)(2)).toThrow('too many');
  });
});

interface ByteProblem {
  readonly stride: number;
  readonly bags: readonly (readonly number[])[];
  readonly bytes: readonly number[];
  readonly scales: readonly number[];
  readonly values: readonly number[];
}

describe('adaGradRows', () => {
  it('takes the step of each bag on each of its rows, one after the other', () => {
    fc.assert(
      fc.property(problem, (given) => {
        const { kernels, bags, ...arrays } = memoryOf(given);
        kernels.adaGradRows(arrays, bags, { rate: 0.1, ignored: 0 });
        const weights = [...given.table];
        const squares = given.table.map(() => 0.5);
        for (const [bag, ids] of given.bags.entries()) {
          for (const id of ids) {
            for (let column = 0; column < given.width; column += 1) {
              const at = id * given.width + column;
              const gradient = given.gradients[bag * given.width + column] ?? Number.NaN;
              squares[at] = (squares[at] ?? 0) + gradient ** 2;
              weights[at] = (weights[at] ?? 0) - (0.1 * gradient) / Math.sqrt(squares[at] ?? 0);
            }
          }
        }
        expectClose(arrays.table, weights);
        expectClose(arrays.squares, squares);
      }),
    );
  });

  it('skips four columns in which no gradient is above the ignored size', () => {
    const { kernels, bags, ...arrays } = memoryOf({
      bags: [[0]],
      table: Array(8).fill(0),
      gradients: [0.1, -0.1, 0.1, 0, 0.1, 0.2, 0, 0],
    });
    kernels.adaGradRows(arrays, bags, { rate: 1, ignored: 0.15 });
    expect([...arrays.table].map((weight) => weight === 0)).toEqual([
      ...[true, true, true, true],
      ...[false, false, true, true],
    ]);
  });

  it('refuses views of other arenas and widths that are not whole vectors, and writes nothing', () => {
    const { kernels, bags, ...arrays } = memoryOf({
      bags: [[0]],
      table: [1, 1, 1, 1],
      gradients: [1, 1, 1, 1],
    });
    const scalars = { rate: 1, ignored: 0 };
    expect(() => kernels.adaGradRows({ ...arrays, gradients: new Float32Array(4) }, bags, scalars)).toThrow(RangeError);
    const short = { ...arrays, gradients: arrays.gradients.subarray(0, 3) };
    expect(() => kernels.adaGradRows(short, bags, scalars)).toThrow(RangeError);
    expect([...arrays.table]).toEqual([1, 1, 1, 1]);
  });
});
