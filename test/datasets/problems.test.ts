import { describe, expect, it } from 'vitest';
import {
  counted,
  describeBytes,
  MAX_WARNING_EXAMPLES,
  ProblemList,
  quoted,
  someOf,
  warnAbout,
} from '../../src/datasets/problems.js';

describe('ProblemList', () => {
  it('lists the first 100 problems and counts the rest', () => {
    const problems = new ProblemList();
    for (let line = 1; line <= 250; line += 1) problems.add({ file: 'a', line, found: 'x', expected: 'y' });
    const error = problems.toError();
    expect(error.problems.map(({ line }) => line)).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
    expect(error.total).toBe(250);
    expect(error.message).toBe('a line 1: x; expected y (and 249 more)');
  });
});

describe('the words of problems', () => {
  it('cut a long value', () => {
    expect(quoted('short')).toBe('"short"');
    expect(quoted('x'.repeat(500))).toHaveLength(61);
  });

  it('show values that JSON does not have', () => {
    const circular: unknown[] = [];
    circular.push(circular);
    expect([undefined, 5n, { id: 5n }, circular].map(quoted)).toEqual(['undefined', '5', '[object Object]', '']);
  });

  it('tell singular from plural', () => {
    expect([0, 1, 2, 1234].map((value) => counted(value, 'row'))).toEqual(['0 rows', '1 row', '2 rows', '1,234 rows']);
  });

  it('name the first of many files', () => {
    expect(someOf(['a', 'b'], 2)).toBe('a, b');
    expect(someOf(['a', 'b', 'c', 'd'], 2)).toBe('a, b and 2 more');
  });

  it.each([
    [17, '17 bytes'],
    [1536, '1.5 KiB'],
    [512 * 1024 ** 2, '512 MiB'],
    [1024 ** 3, '1 GiB'],
  ])('give %d bytes as %s', (bytes, words) => {
    expect(describeBytes(bytes)).toBe(words);
  });
});

describe('warnAbout', () => {
  it('counts all places and names a few', () => {
    const places = Array.from({ length: 30 }, (_, index) => ({ file: 'train.tsv', line: index + 2 }));
    const [warning] = warnAbout('duplicate_row', places, 'again');
    expect(warning).toMatchObject({ kind: 'duplicate_row', count: 30, message: 'again' });
    expect(warning?.examples).toEqual(places.slice(0, MAX_WARNING_EXAMPLES));
  });

  it('gives no warning if there are no places', () => {
    expect(warnAbout('duplicate_row', [], 'again')).toEqual([]);
  });
});
