import { deflateRawSync } from 'node:zlib';
import { ZipFile } from 'yazl';
import { Random } from '../../src/system/numbers.js';

/** Archives that somebody damaged, by chance or on purpose. A number decides which. */

/** The files of an archive, by their paths. */
export type ArchiveFiles = ReadonlyMap<string, Buffer>;

/** The bytes of a zip of these files. */
export async function zipped(files: ArchiveFiles): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, contents] of files) zip.addBuffer(contents, name);
  zip.end();
  const chunks: Buffer[] = [];
  for await (const chunk of zip.outputStream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

/** One mutation of the archive, the same for the same number. */
export async function mutated(files: ArchiveFiles, number: number): Promise<Buffer> {
  const random = Random.fromSeed(number, 77);
  const change = pick(random, [bytesFlipped, cut, directoryLies, renamed, textChanged, textChanged, reencoded, bomb]);
  return change(files, random);
}

type Mutation = (files: ArchiveFiles, random: Random) => Promise<Buffer> | Buffer;

function pick<T>(random: Random, items: readonly T[]): T {
  const item = items[random.integer(items.length)];
  if (item === undefined) throw new RangeError('nothing to pick from');
  return item;
}

const bytesFlipped: Mutation = async (files, random) => {
  const zip = await zipped(files);
  for (let flips = 1 + random.integer(8); flips > 0; flips -= 1) {
    zip[random.integer(zip.length)] = random.integer(256);
  }
  return zip;
};

const cut: Mutation = async (files, random) => {
  const zip = await zipped(files);
  const at = random.integer(zip.length);
  return random.uniform() < 0.5
    ? zip.subarray(0, at)
    : Buffer.concat([zip.subarray(0, at), zip.subarray(at + 1 + random.integer(40))]);
};

/** Offsets of the fields of an entry of the central directory: method, CRC, sizes, lengths of names, attributes, place. */
const ENTRY_FIELDS = [8, 10, 16, 20, 24, 28, 30, 32, 36, 38, 42];
/** Of its end: the numbers of entries, its size and its place, and the comment's length. */
const END_FIELDS = [8, 10, 12, 16, 20];

const directoryLies: Mutation = async (files, random) => {
  const zip = await zipped(files);
  const isEntry = random.uniform() < 0.8;
  const at = zip.indexOf(isEntry ? 'PK\x01\x02' : 'PK\x05\x06', 0, 'latin1');
  const field = at + pick(random, isEntry ? ENTRY_FIELDS : END_FIELDS);
  zip.writeUInt16LE(pick(random, [0, 1, 0xff, 0x7fff, 0xffff, random.integer(0x10000)]), field);
  return zip;
};

/** Names as long as those that they replace, so that the zip stays whole. */
const renamed: Mutation = async (files, random) => {
  const zip = await zipped(files);
  const name = Buffer.from(pick(random, [...files.keys()]));
  const evil = pick(random, ['../', '/', '..\\', '\0', 'C:\\', './', '//', 'a/../../', '\ufeff', '\u202e', 'con/']);
  const other = Buffer.from(evil.padEnd(name.length, 'x')).subarray(0, name.length);
  for (let at = zip.indexOf(name); at !== -1; at = zip.indexOf(name, at + name.length)) other.copy(zip, at);
  return zip;
};

const FRAGMENTS = [
  '\t',
  '\n',
  '\r',
  '\r\n',
  '"',
  "'",
  ',',
  '{',
  '}',
  '[',
  ']',
  ':',
  '\\',
  '\\u0000',
  '\0',
  'null',
  '-1',
  '1e999',
  '__proto__',
  'constructor',
  'B-',
  'I-',
  'O',
  ' ',
  '\u2028',
  '\ufeff',
  '\ud83d\ude00',
  '\u0301',
  '{"a":1,"a":2}',
  '"\\ud800"',
  '9007199254740993',
];

const textChanged: Mutation = (files, random) => {
  const [name, contents] = pick(random, [...files]);
  let text = contents.toString('utf8');
  for (let edits = 1 + random.integer(4); edits > 0; edits -= 1) {
    const from = random.integer(text.length + 1);
    const to = random.uniform() < 0.5 ? from : from + random.integer(30);
    const fragment = pick(random, FRAGMENTS);
    const times = random.uniform() < 0.1 ? 1 + random.integer(50_000) : 1;
    text = text.slice(0, from) + fragment.repeat(times) + text.slice(to);
  }
  return zipped(new Map([...files, [name, Buffer.from(text)]]));
};

const reencoded: Mutation = (files, random) => {
  const [name, contents] = pick(random, [...files]);
  const text = contents.toString('utf8');
  const other = pick(random, [
    () => Buffer.from(text, 'utf16le'),
    () => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]),
    () => Buffer.from(`${text}\u00e9`, 'latin1'),
    () => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), contents]),
    () => Buffer.concat([contents, Buffer.from([0xed, 0xa0, 0x80, 0xc0, 0xaf, 0xf5])]),
    () => Buffer.alloc(0),
    () => Buffer.from(text.replaceAll('\n', '\r')),
  ]);
  return zipped(new Map([...files, [name, other()]]));
};

/** What a small zip may unpack to here: enough to be felt, little enough to do it often. */
const BOMB_BYTES = 4 * 1024 ** 2;

/** A file of one repeated character; now and then its entry claims to be small. */
const bomb: Mutation = async (files, random) => {
  const name = pick(random, [...files.keys()]);
  const filler = pick(random, ['\0', ' ', '[', '\n', '{"":', 'a', '\t', '"\\']);
  const zip = await zipped(
    new Map([...files, [name, Buffer.from(filler.repeat(random.integer(BOMB_BYTES / filler.length)))]]),
  );
  if (random.uniform() < 0.7) return zip;
  const at = zip.indexOf('PK\x01\x02', 0, 'latin1');
  zip.writeUInt32LE(deflateRawSync(Buffer.alloc(10)).length, at + 24);
  return zip;
};
