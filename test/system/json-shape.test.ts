import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  either,
  fields,
  filledText,
  flag,
  type JsonShape,
  listOf,
  nullable,
  number,
  object,
  oneOf,
  pairOf,
  recordOf,
  requireShape,
  shaped,
  shortText,
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

  it.each([
    [shortText(2), ['', 'ab'], ['abc', 5], 'a string of at most 2 characters'],
    [text, [''], [null, ['a']], 'a string'],
    [filledText, ['a'], ['', null], 'a string that is not empty'],
    [number(-1, 2), [-1, 0.5, 2], [-1.1, 2.1, '1'], 'a number, -1 or more, 2 or less'],
    [number(), [-1e308], [Number.NaN], 'a number'],
    [whole(-1, 2), [-1, 0, 2], [-2, 3, 0.5, '1'], 'a whole number, -1 or more, 2 or less'],
    [whole(), [2 ** 53 - 1], [2 ** 53, null], 'a whole number'],
    [oneOf<string | number>('a', 2), ['a', 2], ['2', 'b', null], '"a" or 2'],
    [nullable(flag), [null, true], [undefined, 0], 'true or false'],
    [listOf(flag, 2), [[], [true, false]], [[true, true, true]], 'an array of at most 2 entries'],
    [listOf(flag), [[true, true, true]], [{ length: 0 }], 'an array'],
    [pairOf(flag, flag), [[true, false]], [[true], [true, true, true], 'ab'], 'an array of two'],
    [object, [{}, { a: 1 }], [[], null, 'a'], 'an object'],
  ])('fits within its bounds only, and says them: %#', async (shape: JsonShape<unknown>, fitting, others, expected) => {
    for (const value of fitting) expect(shaped(shape, value), JSON.stringify(value)).toEqual(value);
    for (const value of others) {
      const error = await failureOf('model_folder', () => requireShape(shape, value, 'x.json'));
      expect(error.message, JSON.stringify(value)).toBe(`x.json: the file: expected ${expected}`);
    }
  });

  it.each([
    [pairOf(flag, flag), [1, true], 'model.0: expected true or false'],
    [pairOf(flag, flag), [true, 1], 'model.1: expected true or false'],
    [either(recordOf(listOf(flag)), text), { a: [1] }, 'model: expected a string'],
    [either(text, recordOf(listOf(flag))), { a: [true, 1] }, 'model.a.1: expected true or false'],
    [fields({}, {}, 'refused'), { a: 1 }, 'model.a: expected no field of this name'],
    [fields({}, { a: flag }), { a: null }, 'model.a: expected true or false'],
  ])('says where it is wrong in the field of a file: %#', async (shape: JsonShape<unknown>, value, message) => {
    const error = await failureOf('model_folder', () => requireShape(shape, value, 'x.json', 'model'));
    expect(error.message).toBe(`x.json: ${message}`);
  });

  it('has further fields only where they are allowed', () => {
    expect(shaped(fields({ a: flag }, {}), { a: true, b: 1 })).toEqual({ a: true, b: 1 });
    expect(shaped(fields({ a: flag }, { b: flag }, 'refused'), { a: true, b: undefined })).toBeDefined();
    expect(shaped(fields({ a: flag }, {}, 'refused'), { a: true, b: 1 })).toBeUndefined();
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
