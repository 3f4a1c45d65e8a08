import { createHash } from 'node:crypto';
import { mkdir, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  CHUNK_BYTES,
  chunksOf,
  contentHash,
  filesIn,
  fileWithin,
  isInnerName,
  KnownHashes,
  readWithin,
} from '../../src/system/index.js';
import { aDirectory } from '../storage/temporary-place.js';

const ON_WINDOWS = process.platform === 'win32';

describe('the name of a file in a folder', () => {
  it.each([
    'a',
    'config.json',
    'onnx/model.onnx',
    '.gitattributes',
    'a b/c d',
    'console',
    'com',
    'com10',
    'é',
    'x'.repeat(1024),
  ])('may be %s', (name) => {
    expect(isInnerName(name)).toBe(true);
  });

  it.each([
    '',
    '/a',
    'a/',
    'a//b',
    '.',
    '..',
    '../a',
    'a/../b',
    'a/./b',
    'a.',
    'a ',
    ' a',
    'a/ b',
    'a /b',
    'a\\b',
    'c:a',
    'a*',
    'a?',
    'a"b',
    'a<b',
    'a>b',
    'a|b',
    'a\nb',
    'a\u0000',
    'con',
    'CON',
    'nul.txt',
    'a/prn',
    'aux.tar.gz',
    'com1',
    'lpt9.x',
    'conin$',
    'x'.repeat(1025),
  ])('may not be %j', (name) => {
    expect(isInnerName(name)).toBe(false);
  });
});

describe('a file of a folder', () => {
  async function aFolder() {
    const root = await aDirectory();
    const folder = join(root, 'models--a--b', 'snapshots', 'main');
    await mkdir(join(folder, 'inner'), { recursive: true });
    await writeFile(join(folder, 'inner', 'file'), 'content');
    await writeFile(join(root, 'secret'), 'secret');
    return { root, folder };
  }

  it('is found with its size, and read', async () => {
    const { folder } = await aFolder();
    expect(fileWithin(folder, 'inner/file', 7).bytes).toBe(7);
    expect((await readWithin(folder, 'inner/file', 7)).toString()).toBe('content');
  });

  it('is no larger than asked for, and no directory', async () => {
    const { folder } = await aFolder();
    expect(() => fileWithin(folder, 'inner/file', 6)).toThrow('it has 7 bytes; at most 6 are read');
    await expect(readWithin(folder, 'inner/file', 6)).rejects.toThrow('at most 6');
    expect(() => fileWithin(folder, 'inner', 7)).toThrow('it is not a file');
    expect(() => fileWithin(folder, 'other', 7)).toThrow('ENOENT');
    expect(() => fileWithin(folder, '../../../secret', 7)).toThrow('is not the name of a file inside the folder');
  });

  it.skipIf(ON_WINDOWS)('may be a link within the folder or to the blobs beside it, and to nothing else', async () => {
    const { root, folder } = await aFolder();
    const blobs = join(root, 'models--a--b', 'blobs');
    for (const path of [join(blobs, 'blob'), `${blobs}-more`, join(dirname(folder), 'main-more')]) {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, 'blob');
    }
    const link = (target: string, name: string) => symlink(target, join(folder, name));
    await link('inner/file', 'within');
    await link('../../blobs/blob', 'blob');
    await link('../../blobs-more', 'blobs-more');
    await link('../main-more', 'beside');
    await link('../../../secret', 'outside');
    await link('../../..', 'directory');
    expect((await readWithin(folder, 'within', 10)).toString()).toBe('content');
    expect((await readWithin(folder, 'blob', 10)).toString()).toBe('blob');
    for (const name of ['blobs-more', 'beside', 'outside', 'directory/secret']) {
      expect(() => fileWithin(folder, name, 10), name).toThrow('it is a link to a place outside the folder');
    }
  });

  it('is read whole, also where it is read in a thread', async () => {
    const { folder } = await aFolder();
    const content = Buffer.alloc(1024 * 1024 + 1, 'x');
    await writeFile(join(folder, 'large'), content);
    expect((await readWithin(folder, 'large', content.length)).equals(content)).toBe(true);
  });
});

describe('the files of a directory', () => {
  const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');

  it('come in the order of their paths, with sizes and hashes', async () => {
    const directory = await aDirectory();
    await mkdir(join(directory, 'a', 'empty'), { recursive: true });
    for (const path of ['b', 'a/z', 'a-b', 'C']) await writeFile(join(directory, path), path);
    await utimes(join(directory, 'b'), 1, 2);
    const files = await filesIn(directory);
    expect(files.map(({ path }) => path)).toEqual(['C', 'a-b', 'a/z', 'b']);
    for (const { path, size, sha256: hash } of files) {
      expect({ size, hash }).toEqual({ size: path.length, hash: sha256(path) });
    }
    expect(files.at(-1)?.modifiedMs).toBe(2000);
    // Worked out by hand: the lines of the files, in the order of their paths.
    const lines = files.map(({ path, size, sha256: hash }) => `${path}\0${size}\0${hash}\n`).join('');
    expect(contentHash(files.toReversed())).toBe(sha256(lines));
  });

  it('are hashed again only after a change', async () => {
    const directory = await aDirectory();
    const path = join(directory, 'file');
    await writeFile(path, 'first');
    const hashes = new KnownHashes();
    expect(await hashes.of(path, '1')).toBe(sha256('first'));
    await writeFile(path, 'other');
    expect(await hashes.of(path, '1')).toBe(sha256('first'));
    expect(await hashes.of(path, '2')).toBe(sha256('other'));
    expect((await filesIn(directory, hashes))[0]?.sha256).toBe(sha256('other'));
  });

  it.each([0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 2 * CHUNK_BYTES])(
    'are read in chunks: %i bytes',
    async (bytes) => {
      const path = join(await aDirectory(), 'file');
      const content = Buffer.from(Uint8Array.from({ length: bytes }, (_, at) => at % 251));
      await writeFile(path, content);
      const chunks: Buffer[] = [];
      for await (const chunk of chunksOf(path)) chunks.push(chunk);
      expect(chunks.map(({ length }) => length)).toEqual(
        [...Array(Math.floor(bytes / CHUNK_BYTES)).fill(CHUNK_BYTES), bytes % CHUNK_BYTES].filter(
          (length) => length > 0,
        ),
      );
      expect(Buffer.concat(chunks).equals(content)).toBe(true);
    },
  );
});
