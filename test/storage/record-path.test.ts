import { sep } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { directoryOfPrefix, EXTENSION, parseRecordName, pathOfKey } from '../../src/storage/record-files.js';
import { anyKey } from './keys.js';

const id = '0190a6f0-1c2d-7e3f-8a4b-5c6d7e8f9a0b';

describe('pathOfKey', () => {
  it.each([
    ['a', 'a.json'],
    ['abc', 'abc.json'],
    ['abcd', 'abc/d.json'],
    ['a/b', 'a%2f/b.json'],
    ['..', '%2e%2e.json'],
    ['con', '%63on.json'],
    [`local/${id}`, 'loc/al/%2f/019/0a/6f/0-1/c2d-7e3f-8a4b-5c6d7e8f9a0b.json'],
  ])('writes %j as %s', (key, path) => {
    expect(pathOfKey(key).split(sep).join('/')).toBe(path);
  });

  it('gives different keys different paths, even if case is ignored', () => {
    fc.assert(
      fc.property(anyKey, anyKey, (a, b) => {
        fc.pre(a !== b);
        expect(pathOfKey(a).toLowerCase()).not.toBe(pathOfKey(b).toLowerCase());
      }),
    );
  });

  it('uses names and a length that every common file system allows', () => {
    fc.assert(
      fc.property(anyKey, (key) => {
        const path = pathOfKey(key);
        expect(path.length).toBeLessThan(880);
        for (const name of path.split(sep)) expect(name).toMatch(/^[a-z0-9%_~-]{1,180}(\.json)?$/);
      }),
    );
  });

  it('has the whole of every ASCII key in the path, so that none has to be read to be listed', () => {
    const unit = fc.nat(0x7f).map((code) => String.fromCharCode(code));
    const isWhole = (key: string) => {
      expect(pathOfKey(key)).not.toContain('~');
    };
    fc.assert(fc.property(fc.string({ unit, minLength: 1, maxLength: 200 }), isWhole));
    isWhole('/'.repeat(200));
    isWhole('A'.repeat(200));
  });
});

describe('the names in a directory', () => {
  it('tell the keys, in whose order they are', () => {
    fc.assert(
      fc.property(anyKey, anyKey, (a, b) => {
        fc.pre(a < b);
        const [first, second] = [entries(a), entries(b)];
        const fork = first.findIndex(({ name }, depth) => name !== second[depth]?.name);
        const [one, other] = [first[fork], second[fork]];
        if (one?.text === other?.text) expect(one?.isFile).toBe(true);
        else expect((one?.text ?? '') < (other?.text ?? '')).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it.each(['notes', 'ab', 'abcd', 'abcd.json', 'A.json', '.DS_Store', 'a copy.json', 'a%2fb.json', '.json'])(
    'are not %j, which is not the name of any key',
    (name) => {
      expect(parseRecordName(name, '')).toBeUndefined();
    },
  );
});

describe('directoryOfPrefix', () => {
  it('has every longer key with the prefix, and says what they begin with', () => {
    fc.assert(
      fc.property(anyKey, fc.nat(200), (key, length) => {
        const prefix = key.slice(0, length);
        const { path, beginning } = directoryOfPrefix(prefix);
        expect(prefix.startsWith(beginning)).toBe(true);
        if (key !== prefix) expect(pathOfKey(key).startsWith(path === '.' ? '' : path + sep)).toBe(true);
      }),
    );
  });
});

/** The names on the way to a key's file, with the beginning of the key that each stands for; a hash for the whole key. */
function entries(key: string): { name: string; text: string; isFile: boolean }[] {
  let before = '';
  return pathOfKey(key)
    .split(sep)
    .map((name) => {
      const parsed = parseRecordName(name, before);
      expect(parsed?.isFile).toBe(name.endsWith(EXTENSION));
      before = parsed?.piece === undefined ? key : before + parsed.piece;
      return { name, text: before, isFile: name.endsWith(EXTENSION) };
    });
}
