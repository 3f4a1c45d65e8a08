import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  either,
  fields,
  filledText,
  flag,
  listOf,
  nullable,
  number,
  oneOf,
  pairOf,
  recordOf,
  requireShape,
  shaped,
  text,
  whole,
} from '../../src/system/json-shape.js';
import { failureOf } from '../support/outcomes.js';

const shape = fields(
  { name: text, sizes: listOf(whole(1)), kind: oneOf('a', 'b') },
  { note: nullable(filledText), ends: pairOf(text, number(0, 1)), flags: recordOf(flag) },
  'refused',
);
const fitting = {
  name: '',
  sizes: [1, 2],
  kind: 'b',
  note: null,
  ends: ['x', 0.5],
  flags: { constructor: true },
};

describe('a shape', () => {
  it('gives back what fits, itself', () => {
    expect(requireShape(shape, fitting, 'x.json')).toBe(fitting);
    expect(shaped(shape, { name: 'x', sizes: [], kind: 'a' })).toBeDefined();
  });

  it.each([
    [{ name: 5 }, 'name: expected a string'],
    [{ name: undefined }, 'name: expected a string'],
    [{ sizes: 'none' }, 'sizes: expected an array'],
    [{ sizes: [1, 0] }, 'sizes.1: expected a whole number, 1 or more'],
    [{ sizes: [1.5] }, 'sizes.0: expected a whole number, 1 or more'],
    [{ kind: 'c' }, 'kind: expected "a" or "b"'],
    [{ note: '' }, 'note: expected a string that is not empty'],
    [{ ends: ['x'] }, 'ends: expected an array of two'],
    [{ ends: ['x', 2] }, 'ends.1: expected a number, 0 or more, 1 or less'],
    [{ flags: { on: 1 } }, 'flags.on: expected true or false'],
    [{ flags: [true] }, 'flags: expected an object'],
    [{ more: 1 }, 'more: expected no field of this name'],
    [{ constructor: 1 }, 'constructor: expected no field of this name'],
  ])('names the first field that is wrong: %j', async (change, message) => {
    const error = await failureOf('model_folder', () => requireShape(shape, { ...fitting, ...change }, 'x.json'));
    expect(error.message).toBe(`x.json: ${message}`);
  });

  it.each([null, [], 'text', 7])('is not %j', async (value) => {
    const error = await failureOf('model_folder', () => requireShape(shape, value, 'x.json'));
    expect(error.message).toBe('x.json: the file: expected an object');
  });

  it.each([
    [5, true],
    [-1e308, true],
    [Number.POSITIVE_INFINITY, false], // JSON.parse('1e999')
    [Number.NaN, false],
    ['5', false],
    [null, false],
  ])('number is a finite one: %s', (value, fits) => {
    expect(shaped(number(), value) !== undefined).toBe(fits);
  });

  it('names at most 200 characters of a field', async () => {
    const value = { ['x'.repeat(150)]: { ['y'.repeat(150)]: 5 } };
    const error = await failureOf('model_folder', () => requireShape(recordOf(recordOf(text)), value, 'x.json'));
    expect(error.message).toBe(`x.json: ${'x'.repeat(150)}.${'y'.repeat(49)}: expected a string`);
  });

  it('of two is either', () => {
    const either_ = either(text, fields({ content: text }, {}));
    expect(['x', { content: 'x' }, { content: 1 }, 1].map((value) => shaped(either_, value) !== undefined)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it('takes any JSON without throwing', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(shaped(recordOf(whole()), value) !== undefined).toBe(
          typeof value === 'object' &&
            value !== null &&
            !Array.isArray(value) &&
            Object.values(value).every(Number.isSafeInteger),
        );
      }),
    );
  });
});
