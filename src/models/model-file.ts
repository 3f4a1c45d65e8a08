import { ModelFolderError } from '../contract/index.js';
import {
  fields,
  isInnerName,
  type JsonShape,
  listOf,
  type Shaped,
  shaped,
  shortText,
  utf8Text,
  whole,
} from '../system/index.js';

/**
 * A model as one file, which can be read from a stream:
 *
 *     bytes 0 to 7   `ORCHARD` and a line feed
 *     8 to 11        length of the header, little-endian
 *     12 to          the header, JSON: names and bytes of files, and xxHash32 of all that follows it, in hexadecimal
 *     then           the files, in their order; each starts at a multiple of 64 bytes of the whole
 */

const MAGIC = Uint8Array.from('ORCHARD\n', (character) => character.charCodeAt(0));
const PREFIX_BYTES = 12;
const ALIGNMENT = 64;
const MAX_HEADER_BYTES = 2 ** 20;
const MAX_FILES = 64;
const MAX_BYTES = 2 ** 31 - 1;

const nameShape: JsonShape<string> = (value, problem): value is string => {
  if (typeof value === 'string' && isInnerName(value)) return true;
  problem.expected = 'the name of a file inside the folder';
  return false;
};
const headerShape = fields(
  {
    format: whole(1, 1),
    files: listOf(fields({ name: nameShape, bytes: whole(0, MAX_BYTES) }, {}), MAX_FILES),
    xxh32: shortText(8),
  },
  {},
);

const aligned = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

/** @param files by their names in the model's folder */
export function* modelFilePieces(files: ReadonlyMap<string, Uint8Array>): Generator<Uint8Array, void> {
  const hash = new Xxh32();
  const padded = [...files.values()].map((bytes) => {
    const piece = new Uint8Array(aligned(bytes.length));
    piece.set(bytes);
    hash.add(piece);
    return piece;
  });
  const entries = [...files].map(([name, { length: bytes }]) => ({ name, bytes }));
  const json = new TextEncoder().encode(JSON.stringify({ format: 1, files: entries, xxh32: hash.digest() }));
  const start = new Uint8Array(aligned(PREFIX_BYTES + json.length)).fill(0x20);
  start.set(MAGIC);
  new DataView(start.buffer).setUint32(MAGIC.length, start.length - PREFIX_BYTES, true);
  start.set(json, PREFIX_BYTES);
  yield start;
  yield* padded;
}

/** Whether these are the first bytes of such a file. */
export function isModelFile(bytes: Uint8Array): boolean {
  return MAGIC.every((byte, at) => bytes[at] === byte);
}

/**
 * Reads such a file as its bytes arrive, into one piece of memory. That is the first piece's own if it is the whole file.
 * @param file named in errors. @returns the files by their names, as views of that memory
 * @throws ModelFolderError for a file of another kind, or one that is damaged or cut off
 */
export async function readModelFile(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  file: string,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const reader = new ModelFileReader(file);
  for await (const chunk of chunks) reader.add(chunk);
  return reader.files();
}

interface Header extends Shaped<typeof headerShape> {
  /** Of the files. */
  readonly start: number;
  readonly end: number;
}

class ModelFileReader {
  readonly #file: string;
  /** With room for the whole file, once its header says how long it is. The first piece isn't copied if it is the whole. */
  #bytes: Uint8Array = new Uint8Array();
  #have = 0;
  #header: Header | undefined;
  readonly #hash = new Xxh32();
  #hashed = 0;

  constructor(file: string) {
    this.#file = file;
  }

  add(chunk: Uint8Array): void {
    if (this.#have === 0 && chunk.byteOffset % ALIGNMENT === 0) this.#bytes = chunk;
    else this.#append(chunk);
    this.#have += chunk.length;
    this.#header ??= this.#readHeader();
    if (this.#have > (this.#header?.end ?? MAX_BYTES)) throw this.#refusal('it is longer than its header says');
    this.#hashMore();
  }

  files(): ReadonlyMap<string, Uint8Array> {
    if (this.#header === undefined || this.#have < this.#header.end) {
      throw this.#refusal(`it is cut off after ${this.#have} bytes; download or copy it again`);
    }
    const { files, xxh32, start } = this.#header;
    const found = this.#hash.digest();
    if (found !== xxh32) {
      throw this.#refusal(`it is damaged: its checksum is ${found}, not ${xxh32}; download or copy it again`);
    }
    let at = start;
    return new Map(
      files.map(({ name, bytes }) => {
        const content = this.#bytes.subarray(at, at + bytes);
        at += aligned(bytes);
        return [name, content];
      }),
    );
  }

  #append(chunk: Uint8Array): void {
    const needed = this.#have + chunk.length;
    if (needed > this.#bytes.length) {
      const larger = new Uint8Array(new ArrayBuffer(Math.max(needed, this.#header?.end ?? 2 * this.#bytes.length)));
      larger.set(this.#bytes.subarray(0, this.#have));
      this.#bytes = larger;
    }
    this.#bytes.set(chunk, this.#have);
  }

  /** Undefined while it isn't there as a whole. */
  #readHeader(): Header | undefined {
    const { buffer, byteOffset } = this.#bytes;
    if (this.#have < PREFIX_BYTES) return undefined;
    if (!isModelFile(this.#bytes)) throw this.#refusal('it is not a file that "orchard export --for web" wrote');
    const length = new DataView(buffer, byteOffset).getUint32(MAGIC.length, true);
    if (length > MAX_HEADER_BYTES)
      throw this.#refusal(`its header has ${length} bytes; at most ${MAX_HEADER_BYTES} are read`);
    const start = PREFIX_BYTES + length;
    if (this.#have < start) return undefined;
    const header = shaped(headerShape, parsed(utf8Text(this.#bytes.subarray(PREFIX_BYTES, start))));
    if (header === undefined || start % ALIGNMENT !== 0) throw this.#refusal('its header is damaged');
    const end = header.files.reduce((sum, { bytes }) => sum + aligned(bytes), start);
    if (end > MAX_BYTES) throw this.#refusal(`it has ${end} bytes; at most ${MAX_BYTES} are read`);
    return { ...header, start, end };
  }

  #hashMore(): void {
    if (this.#header === undefined) return;
    const { start } = this.#header;
    const whole = Math.floor((this.#have - start) / ALIGNMENT) * ALIGNMENT;
    this.#hash.add(this.#bytes.subarray(start + this.#hashed, start + whole));
    this.#hashed = whole;
  }

  #refusal(reason: string): ModelFolderError {
    return new ModelFolderError(this.#file, reason);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const [PRIME1, PRIME2, PRIME3] = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d];

/** xxHash32 with seed 0 of whole groups of 16 bytes (Collet; github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md). */
class Xxh32 {
  readonly #lanes = Int32Array.of(PRIME1 + PRIME2, PRIME2, 0, -PRIME1);
  #bytes = 0;

  /** @param bytes a multiple of 16, aligned to 4 */
  add({ buffer, byteOffset, length }: Uint8Array): void {
    const words = new Int32Array(buffer, byteOffset, length / 4);
    let [a = 0, b = 0, c = 0, d = 0] = this.#lanes;
    for (let at = 0; at < words.length; at += 4) {
      a = round(a, words[at] ?? 0);
      b = round(b, words[at + 1] ?? 0);
      c = round(c, words[at + 2] ?? 0);
      d = round(d, words[at + 3] ?? 0);
    }
    this.#lanes.set([a, b, c, d]);
    this.#bytes += length;
  }

  digest(): string {
    const [a = 0, b = 0, c = 0, d = 0] = this.#lanes;
    const mixed = rotated(a, 1) + rotated(b, 7) + rotated(c, 12) + rotated(d, 18);
    let hash = ((this.#bytes === 0 ? 0x165667b1 : mixed) + this.#bytes) | 0;
    hash = Math.imul(hash ^ (hash >>> 15), PRIME2);
    hash = Math.imul(hash ^ (hash >>> 13), PRIME3);
    return ((hash ^ (hash >>> 16)) >>> 0).toString(16).padStart(8, '0');
  }
}

const rotated = (bits: number, by: number): number => (bits << by) | (bits >>> (32 - by));

function round(lane: number, word: number): number {
  return Math.imul(rotated((lane + Math.imul(word, PRIME2)) | 0, 13), PRIME1);
}
