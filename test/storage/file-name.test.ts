import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeFileName } from '../../src/storage/file-name.js';

/** Any UTF-16 code units, lone surrogates too, up to a key's length; short ones of few letters are common. */
const text = fc.oneof(
  fc.string({ unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)), minLength: 1, maxLength: 200 }),
  fc.string({
    unit: fc.constantFrom('a', 'A', '%', '~', '4', '1', '.', '/', 'é', '\u0301', 'e'),
    minLength: 1,
    maxLength: 4,
  }),
);

describe('encodeFileName', () => {
  it.each([
    ['model-7_b', 'model-7_b'],
    ['local/A.b', 'local%2f%41%2eb'],
    ['..', '%2e%2e'],
    ['é', '%u00e9'],
    ['con', '%63on'],
    ['com1', '%63om1'],
    ['console', 'console'],
  ])('writes %j as %s', (text, name) => {
    expect(encodeFileName(text)).toBe(name);
  });

  it('gives a name that every common file system takes, with room for 100 bytes more', () => {
    fc.assert(
      fc.property(text, (text) => {
        expect(encodeFileName(text)).toMatch(/^[a-z0-9%_~-]{1,155}$/);
      }),
    );
  });

  it('hashes what would be longer than 150 characters', () => {
    expect(encodeFileName('x'.repeat(150))).toBe('x'.repeat(150));
    expect(encodeFileName('x'.repeat(151))).toMatch(/^x{80}~[0-9a-f]{64}$/);
  });

  it('gives different texts different names, even without regard to case', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        fc.pre(a !== b);
        expect(encodeFileName(a).toLowerCase()).not.toBe(encodeFileName(b).toLowerCase());
      }),
    );
  });

  it('distinguishes long texts that differ in a lone surrogate at their end', () => {
    expect(encodeFileName(`${'x'.repeat(199)}\ud800`)).not.toBe(encodeFileName(`${'x'.repeat(199)}\ud801`));
  });
});
