import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { ZipFile } from 'yazl';
import { type UnzipOptions, unzip } from '../../src/datasets/index.js';
import { zipOf } from '../support/archive-builder.js';
import { failureOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** A zip of these bytes, to be unpacked into a new directory. */
function saved(zip: Buffer, options: UnzipOptions = {}) {
  const place = temporaryDirectory();
  const path = join(place, 'data.zip');
  writeFileSync(path, zip);
  const directory = join(place, 'unpacked', 'here');
  return { place, directory, unpack: () => unzip(path, directory, options) };
}

async function refusalOf(zip: Buffer, options: UnzipOptions = {}) {
  const { message } = await failureOf('dataset', saved(zip, options).unpack);
  return message;
}

/** Overwrites every occurrence of a name with another one of the same length. */
function renamed(zip: Buffer, from: string, to: string): Buffer {
  return Buffer.from(zip.toString('latin1').replaceAll(from, to), 'latin1');
}

async function zipWithMode(mode: number): Promise<Buffer> {
  const zip = new ZipFile();
  zip.addBuffer(Buffer.from('/etc/hostname'), 'link', { mode });
  zip.end();
  return buffer(zip.outputStream);
}

const FAR = 2n ** 60n;

/** With a zip64 locator (APPNOTE.TXT 4.3.15) in front of its end record. */
async function zipWithFarEnd(): Promise<Buffer> {
  const zip = await zipOf({ 'a.txt': 'A' });
  const locator = Buffer.alloc(20);
  locator.write('PK\x06\x07', 'latin1');
  locator.writeBigUInt64LE(FAR, 8);
  const end = zip.lastIndexOf('PK\x05\x06', undefined, 'latin1');
  return Buffer.concat([zip.subarray(0, end), locator, zip.subarray(end)]);
}

/** With the offset of its only file in a zip64 extra field (APPNOTE.TXT 4.5.3), after the file's name. */
async function zipWithFarFile(): Promise<Buffer> {
  const zip = await zipOf({ 'a.txt': 'A' });
  const header = zip.indexOf('PK\x01\x02', 0, 'latin1');
  const field = Buffer.alloc(12);
  field.writeUInt16LE(1, 0);
  field.writeUInt16LE(8, 2);
  field.writeBigUInt64LE(FAR, 4);
  zip.writeUInt16LE(field.length, header + 30);
  zip.writeUInt32LE(0xffffffff, header + 42);
  const nameEnd = header + 46 + 'a.txt'.length;
  return Buffer.concat([zip.subarray(0, nameEnd), field, zip.subarray(nameEnd)]);
}

describe('unzip', () => {
  it('unpacks folders and files', async () => {
    const { directory, unpack } = saved(await zipOf({ 'a/b/c.txt': 'C', 'd.txt': 'D' }));
    expect(await unpack()).toEqual(['a/b/c.txt', 'd.txt']);
    expect(readFileSync(join(directory, 'a/b/c.txt'), 'utf8')).toBe('C');
    expect(readFileSync(join(directory, 'd.txt'), 'utf8')).toBe('D');
  });

  it('deletes what a crash left of an earlier unpacking', async () => {
    const { place, directory, unpack } = saved(await zipOf({ 'a.txt': 'old', 'b.txt': 'old' }));
    await unpack();
    writeFileSync(join(place, 'data.zip'), await zipOf({ 'a.txt': 'new' }));
    expect(await unpack()).toEqual(['a.txt']);
    expect(readdirSync(directory)).toEqual(['a.txt']);
    expect(readFileSync(join(directory, 'a.txt'), 'utf8')).toBe('new');
  });

  it('leaves out what operating systems put into archives', async () => {
    const clutter = { '__MACOSX/a/._b.txt': 'x', 'a/.DS_Store': 'x', 'a/._b.txt': 'x', 'a/b.txt': 'B' };
    const { directory, unpack } = saved(await zipOf(clutter));
    expect(await unpack()).toEqual(['a/b.txt']);
    expect(readdirSync(directory, { recursive: true })).toEqual(['a', join('a', 'b.txt')]);
  });

  it.each([
    ['a path that climbs out', 'xx/evil.txt', '../evil.txt'],
    ['a path that climbs out with backslashes', 'xx/evil.txt', '..\\evil.txt'],
    ['an absolute path', 'x/evil.txt', '//evil.txt'],
    ['a drive letter', 'xx/evil.txt', 'C:/evil.txt'],
  ])('refuses %s', async (_, name, hostile) => {
    const { place, unpack } = saved(renamed(await zipOf({ [name]: 'evil' }), name, hostile));
    await failureOf('dataset', unpack);
    expect(
      readdirSync(place, { recursive: true })
        .map(String)
        .filter((path) => /evil/.test(path)),
    ).toEqual([]);
  });

  it.each([
    ['a symbolic link', 0o120777],
    ['a device', 0o020666],
    ['a named pipe', 0o010666],
  ])('refuses %s', async (_, mode) => {
    expect(await refusalOf(await zipWithMode(mode))).toContain('"link" is a link or a device');
  });

  it('refuses a NUL in a name', async () => {
    const zip = renamed(await zipOf({ a_txt: 'A' }), 'a_txt', 'a\0txt');
    expect(await refusalOf(zip)).toContain('found the name "a\\u0000txt"');
  });

  it('refuses two entries of one name', async () => {
    const zip = renamed(await zipOf({ 'a.txt': '1', 'b.txt': '2' }), 'b.txt', 'a.txt');
    expect(await refusalOf(zip)).toContain('found "a.txt" twice');
  });

  it('refuses a file where another entry needs a folder', async () => {
    const zip = renamed(await zipOf({ data: '1', 'xata/b.txt': '2' }), 'xata', 'data');
    expect(await refusalOf(zip)).toContain('the entry "data/b.txt" can\'t be written');
  });

  it('refuses more bytes than allowed, without writing them', async () => {
    const bomb = await zipOf({ 'zeros.txt': Buffer.alloc(5_000_000) });
    expect(bomb.length).toBeLessThan(20_000);
    const { directory, unpack } = saved(bomb, { maxBytes: 1024 ** 2 });
    const { message } = await failureOf('dataset', unpack);
    expect(message).toContain('unpacked, it is larger than 1 MiB');
    expect(readdirSync(directory)).toEqual([]);
  });

  it('adds the files up to see whether they are too large', async () => {
    const zip = await zipOf({ 'a.txt': Buffer.alloc(600), 'b.txt': Buffer.alloc(600) });
    expect(await refusalOf(zip, { maxBytes: 1024 })).toContain('larger than 1 KiB');
  });

  it('refuses a file that unpacks to more than it declares', async () => {
    const zip = await zipOf({ 'zeros.txt': Buffer.alloc(5_000_000) });
    // The uncompressed size in the central directory, at offset 24 of its only header (APPNOTE.TXT 4.3.12).
    zip.writeUInt32LE(10, zip.indexOf('PK\x01\x02', 0, 'latin1') + 24);
    expect(await refusalOf(zip)).toContain('truncated or damaged');
  });

  it('refuses more entries than allowed', async () => {
    const zip = await zipOf({ 'a.txt': '', 'b.txt': '', 'c.txt': '' });
    expect(await refusalOf(zip, { maxEntries: 2 })).toContain('found 3 entries; expected at most 2');
  });

  it('names a truncated zip', async () => {
    const zip = await zipOf({ 'a.txt': 'A'.repeat(100) });
    expect(await refusalOf(zip.subarray(0, zip.length - 40))).toContain('data.zip: found a truncated or damaged');
  });

  it.each([
    ['its end record', 'its zip64 end record', zipWithFarEnd],
    ['a file', 'an entry', zipWithFarFile],
  ])('names a zip that has %s at an offset that Node cannot read', async (_, part, zip) => {
    expect(await refusalOf(await zip())).toContain(
      `data.zip: found a truncated or damaged zip (${part} is outside of the file)`,
    );
  });

  it('notices by its checksum that a file was damaged', async () => {
    const zip = new ZipFile();
    zip.addBuffer(Buffer.from('precious'), 'a.txt', { compress: false });
    zip.end();
    const damaged = renamed(await buffer(zip.outputStream), 'precious', 'precioux');
    expect(await refusalOf(damaged)).toContain('data.zip, a.txt: found a truncated or damaged zip (the checksum');
  });

  it('names an encrypted zip', async () => {
    const zip = await zipOf({ 'a.txt': 'A' });
    // Bit 0 of the general purpose flags says encrypted (APPNOTE.TXT 4.4.4).
    for (const [signature, offset] of [
      ['PK\x03\x04', 6],
      ['PK\x01\x02', 8],
    ] as const) {
      const at = zip.indexOf(signature, 0, 'latin1') + offset;
      zip.writeUInt16LE(zip.readUInt16LE(at) | 1, at);
    }
    expect(await refusalOf(zip)).toContain('found an encrypted zip; expected a zip without a password');
  });

  it('names a packing method that it can not undo', async () => {
    const zip = await zipOf({ 'a.txt': 'A' });
    zip.writeUInt16LE(9, zip.indexOf('PK\x01\x02', 0, 'latin1') + 10);
    expect(await refusalOf(zip)).toContain('"a.txt" is compressed with method 9');
  });

  it('names a zip that only holds another zip', async () => {
    const zip = await zipOf({ 'inner.zip': await zipOf({ 'a.txt': 'A' }) });
    expect(await refusalOf(zip)).toContain('found only another zip in it, "inner.zip"');
  });

  it('names a zip without files', async () => {
    expect(await refusalOf(await zipOf({}))).toContain('found no files in it');
  });

  it('calls the archive by the name it is given', async () => {
    expect(await refusalOf(await zipOf({}), { name: 'reviews.zip' })).toMatch(/^reviews\.zip: /);
  });

  it('does nothing if it is aborted before it starts', async () => {
    const zip = await zipOf({ 'a.txt': 'A' });
    const { directory, unpack } = saved(zip, { signal: AbortSignal.abort() });
    await failureOf('aborted', unpack);
    expect(existsSync(directory)).toBe(false);
  });

  it('stops when it is aborted meanwhile', async () => {
    const abort = new AbortController();
    const files = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`${index}.txt`, 'x']));
    const zip = await zipOf(files);
    setImmediate(() => abort.abort());
    const { directory, unpack } = saved(zip, { signal: abort.signal });
    await failureOf('aborted', unpack);
    expect(existsSync(join(directory, '499.txt'))).toBe(false);
  });

  it('distinguishes a failing disk from a bad archive', async () => {
    const place = temporaryDirectory();
    await failureOf('storage', () => unzip(join(place, 'absent.zip'), join(place, 'unpacked')));
  });
});
