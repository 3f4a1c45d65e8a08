import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeSafetensors,
  decodeWeights,
  encodeByteRows,
  encodeSafetensors,
  type IntegerTensor,
  type NamedTensor,
} from '../../src/models/index.js';
import { failureOf } from '../support/outcomes.js';

const matrix = (shape: readonly number[], ...values: number[]): NamedTensor => ({
  shape,
  values: Float32Array.from(values),
});

const decoded = (bytes: Uint8Array) => decodeWeights(bytes, 'model.safetensors');

/** A file of the format, written by hand. */
function file(bytes: IntegerTensor, scales: NamedTensor | undefined, format = 'orchard-byte-rows'): Uint8Array {
  const tensors = new Map<string, NamedTensor | IntegerTensor>([['w', bytes]]);
  if (scales) tensors.set('w.scale', scales);
  return encodeSafetensors(tensors, { format });
}

const bytes = (...shape: number[]): IntegerTensor => ({ shape, values: Int8Array.of(1, -2, 3, 4, 5, -127) });

describe('weights stored as bytes', () => {
  it('keep each matrix as bytes with a scale for each row, the largest weight of a row as ±127', () => {
    const weights = new Map([['w', matrix([2, 3], 12.7, -0.1, 6, 0.5, -254, 100)]]);
    const { tensors, integers } = decodeSafetensors(encodeByteRows(weights), 'x');
    expect(integers.get('w')).toEqual({ shape: [2, 1, 3], values: Int8Array.of(127, -1, 60, 0, -127, 50) });
    expect(tensors.get('w.scale')).toEqual(matrix([2], 0.1, 2));
  });

  it('are read as the byte times the scale of its row', () => {
    const read = decoded(file(bytes(2, 1, 3), matrix([2], 0.5, 2)));
    expect([...read]).toEqual([['w', matrix([2, 3], 0.5, -1, 1.5, 8, 10, -254)]]);
  });

  it('keep vectors to the bit, and the order of all', () => {
    const weights = new Map([
      ['b', matrix([3], 1 / 3, -1e-20, 3e38)],
      ['a', matrix([1, 1], 1)],
      ['c', matrix([0])],
    ]);
    const read = decoded(encodeByteRows(weights));
    expect(read.get('b')).toEqual(weights.get('b'));
    expect(new Set(read.keys())).toEqual(new Set(weights.keys()));
  });

  it('take little more than a byte each', () => {
    const weights = new Map([['w', matrix([100, 384], ...new Float32Array(38_400).fill(0.1))]]);
    expect(encodeByteRows(weights).length).toBeLessThan(38_400 + 4 * 100 + 300);
  });

  it('keep a row of zeros, even if numbers are too small for a scale', () => {
    const weights = new Map([['w', matrix([3, 2], 0, -0, 1, 2, 1e-40, -1e-39)]]);
    const values = decoded(encodeByteRows(weights)).get('w')?.values ?? [];
    expect([...values].map((value) => Math.abs(value)).filter((_, at) => at < 2 || at > 3)).toEqual([0, 0, 0, 0]);
    expect(values[3]).toBeCloseTo(2, 6);
  });

  it('are off by half a step of their row at most', () => {
    const number = fc.oneof(
      fc.float({ noNaN: true, min: -3, max: 3 }),
      fc.float({ noNaN: true, min: -(2 ** 100), max: 2 ** 100 }),
    );
    const rows = fc
      .integer({ min: 1, max: 5 })
      .chain((width) =>
        fc.array(fc.array(number, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 5 }),
      );
    fc.assert(
      fc.property(rows, (table) => {
        const width = table[0]?.length ?? 0;
        const weights = new Map([['w', matrix([table.length, width], ...table.flat())]]);
        const read = decoded(encodeByteRows(weights)).get('w');
        expect(read?.shape).toEqual([table.length, width]);
        for (const [row, numbers] of table.entries()) {
          const step = Math.max(...numbers.map(Math.abs)) / 127;
          // Scale and product are rounded to float32: one part in 2²³ of the largest weight, 127 steps.
          const bound = step / 2 + (127 * step) / 2 ** 23;
          for (const [column, number] of numbers.entries()) {
            const off = Math.abs((read?.values[row * width + column] ?? Number.NaN) - number);
            expect(off).toBeLessThanOrEqual(Math.max(bound, 127 * 2 ** -126));
          }
        }
      }),
    );
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])('are not written with a %d among them', (value) => {
    const weights = new Map([['layer.weight', matrix([2, 2], 1, 1, value, 1)]]);
    expect(() => encodeByteRows(weights)).toThrow('layer.weight, row 1: a weight is not finite');
  });

  it.each<[string, Uint8Array, string]>([
    ['no scales', file(bytes(2, 1, 3), undefined), 'tensor w is [2, 1, 3] and w.scale is missing'],
    ['scales of other rows', file(bytes(2, 1, 3), matrix([3], 1, 1, 1)), 'w.scale is [3]'],
    ['scales in a column', file(bytes(2, 1, 3), matrix([2, 1], 1, 1)), 'w.scale is [2, 1]'],
    ['a scale for several rows', file(bytes(1, 2, 3), matrix([1], 1)), 'tensor w is [1, 2, 3]'],
    ['bytes that are no matrix', file(bytes(6), matrix([6], 1, 1, 1, 1, 1, 1)), 'tensor w is [6]'],
  ])('are refused with %s, naming the file', async (_, content, reason) => {
    const error = await failureOf('model_folder', () => decodeWeights(content, 'model.safetensors'));
    expect(error.message).toMatch(/^model\.safetensors: /);
    expect(error.message).toContain(`${reason}`);
    expect(error.message).toContain('expected [rows, 1, columns] and a scale for each row');
  });

  it('leaves out the integers of a file that another library wrote, and keeps its tensors called scale', () => {
    const foreign = file(bytes(2, 1, 3), matrix([2], 1, 2), 'pt');
    expect([...decoded(foreign)]).toEqual([['w.scale', matrix([2], 1, 2)]]);
  });
});
