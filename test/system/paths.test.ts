import { mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import {
  absolutePath,
  beginsAtHome,
  fromHome,
  HOME_HINT,
  isPresent,
  latePattern,
  moveIfPresent,
  namesIn,
  nearestExisting,
  parseJson,
  readTextIfPresent,
  requirePath,
  utf8Text,
  writeFailure,
  writeFlushed,
} from '../../src/system/index.js';
import { aDirectory } from '../storage/temporary-place.js';
import { failureOf } from '../support/outcomes.js';

describe('a path', () => {
  it('is absolute as of the call, and may be the text of a file URL', () => {
    const path = resolve('a b', 'c');
    for (const given of [
      path,
      join('a b', 'c'),
      pathToFileURL(path).href,
      pathToFileURL(path).href.replace('file', 'FILE'),
    ]) {
      expect(absolutePath(given)).toBe(path);
    }
    expect(absolutePath('profile:x')).toBe(resolve('profile:x'));
  });

  it.each([
    ['~', true],
    ['~/a', true],
    ['~\\a', true],
    ['~a', false],
    ['a~', false],
    ['/~', false],
    ['a/~/b', false],
  ])('%j begins at home: %s', async (path, isHome) => {
    expect(beginsAtHome(path)).toBe(isHome);
    expect(absolutePath(path)).toBe(isHome ? path : resolve(path));
    expect(fromHome(path)).toBe(isHome ? join(homedir(), path.slice(1)) : path);
    if (isHome) {
      expect(await refusalOf(path)).toMatchObject({ problems: [{ loc: ['directory'], type: 'path', msg: HOME_HINT }] });
    } else expect(requirePath(path, 'directory')).toBe(resolve(path));
  });

  it.each([
    [5, /^give a path$/],
    ['', /^give a path$/],
    [undefined, /^give a path$/],
    [new URL('file:///a'), /give its href/],
  ])('is not %j', async (given, reason) => {
    expect(await refusalOf(given)).toMatchObject({
      problems: [{ loc: ['directory'], type: 'path', msg: expect.stringMatching(reason) }],
    });
  });

  /** What code without types is told. */
  function refusalOf(given: unknown) {
    return failureOf('validation', () => Reflect.apply(requirePath, undefined, [given, 'directory']));
  }
});

describe('the lowest folder above a path', () => {
  it('that exists is the path itself, or what is above what is missing or no folder', async () => {
    const directory = await aDirectory();
    const file = join(directory, 'file');
    await writeFile(file, '');
    expect(await nearestExisting(directory)).toBe(directory);
    expect(await nearestExisting(join(directory, 'a', 'b', 'c'))).toBe(directory);
    expect(await nearestExisting(join(file, 'a', 'b'))).toBe(file);
    expect(await nearestExisting('/')).toBe('/');
  });
});

describe('the failure of a write', () => {
  const denied = (permission: string) =>
    Object.assign(new Error('Access to this API has been restricted'), { code: 'ERR_ACCESS_DENIED', permission });

  it('names the flag of Node that it lacks, with the folder that both the file and its draft are in', async () => {
    const directory = await aDirectory();
    const thrown = denied('FileSystemWrite');
    const failure = await writeFailure(join(directory, 'a', 'model.zip'), thrown);
    expect(failure).toMatchObject({ code: 'storage', cause: thrown });
    expect(failure.message).toContain(`writing ${join(directory, 'a', 'model.zip')}`);
    expect(failure.message).toContain(`--allow-fs-write=${directory}`);
  });

  it('is else that of the system', async () => {
    for (const thrown of [denied('FileSystemRead'), new Error('EISDIR')]) {
      const { message } = await writeFailure('model.zip', thrown);
      expect(message).toBe(`writing model.zip: ${thrown.message}`);
    }
  });
});

describe('what may be missing', () => {
  it('is told apart from what fails', async () => {
    const directory = await aDirectory();
    const [file, missing] = [join(directory, 'file'), join(directory, 'missing')];
    await writeFile(file, 'text');
    expect([await readTextIfPresent(file), await readTextIfPresent(missing)]).toEqual(['text', undefined]);
    await expect(readTextIfPresent(directory)).rejects.toThrow('EISDIR');
    expect([await isPresent(file), await isPresent(missing)]).toEqual([true, false]);
    expect(await moveIfPresent(missing, file)).toBe(false);
    expect([await namesIn(directory), await namesIn(missing)]).toEqual([['file'], []]);
    await expect(namesIn(file)).rejects.toThrow('ENOTDIR');
    await expect(moveIfPresent(file, join(file, 'inside'))).rejects.toThrow('ENOTDIR');
    await mkdir(join(directory, 'folder'));
    expect(await moveIfPresent(file, join(directory, 'folder', 'file'))).toBe(true);
    expect(await namesIn(directory)).toEqual(['folder']);
  });

  it('is not written over', async () => {
    const path = join(await aDirectory(), 'file');
    await writeFlushed(path, 'first');
    await expect(writeFlushed(path, 'second')).rejects.toThrow('EEXIST');
    expect(await readTextIfPresent(path)).toBe('first');
  });
});

describe('texts', () => {
  it('are JSON of a schema, or undefined', () => {
    const schema = z.object({ a: z.number() });
    expect(['{"a":1}', '{"a":"1"}', '{"a":1', ''].map((text) => parseJson(schema, text))).toEqual([
      { a: 1 },
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('are read from bytes as Buffer reads them', () => {
    for (const bytes of [
      [0xef, 0xbb, 0xbf, 0x61],
      [0xc3, 0xa4],
      [0xff, 0x61],
    ]) {
      expect(utf8Text(Uint8Array.from(bytes))).toBe(Buffer.from(bytes).toString());
    }
  });

  it('are searched by a pattern that is made once', () => {
    const pattern = latePattern('\\p{L}', 'u');
    expect(pattern()).toBe(pattern());
    expect(pattern()).toEqual(/\p{L}/u);
  });
});
