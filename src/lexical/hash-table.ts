import { type AnswerKernels, Arena, type HashSlots, loadAnswerKernels } from '../engine/index.js';

export function combineHash(hash: number, value: number): number {
  const mixed = Math.imul(hash ^ value, 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}

/** Enough slots that a look-up seldom meets more than one other hash. */
const SLOTS_FOR_EACH = 1.5;

/** Steps from where a hash belongs, at most and on average; chance stays below a tenth of both, collisions don't. */
const MAX_STEPS = 4096;
const MAX_MEAN_STEPS = 64;

/** Numbers hashes in the order in which they are first seen: open addressing with linear probing. */
export class HashTable {
  /** There may be room for more. */
  #hashes: Int32Array;
  /** A number plus one, and in the bits above it those of its hash, spread; 0 marks an empty slot. */
  #slots: Int32Array;
  /** The mask of the numbers in the slots. */
  #numbers: number;
  #size = 0;

  constructor(expected = 1024) {
    this.#hashes = new Int32Array(expected);
    this.#slots = new Int32Array(slotsFor(expected));
    this.#numbers = numberMask(expected);
  }

  /**
   * Copies them. Smaller than `hashes.length` if one occurs twice, or too many belong in the same slots.
   * @param arena has room for {@link hashTableCounts}
   */
  static of(
    hashes: Int32Array,
    arena = arenaFor(hashes),
    kernels: AnswerKernels = loadAnswerKernels(arena),
  ): HashTable {
    const table = new HashTable(0);
    table.#hashes = arena.int32(hashes.length);
    table.#hashes.set(hashes);
    table.#slots = arena.int32(slotsFor(hashes.length));
    table.#numbers = numberMask(hashes.length);
    table.#size = kernels.numberHashes(table.slots, { most: MAX_STEPS, mean: MAX_MEAN_STEPS });
    return table;
  }

  /** For kernels, if it was made by {@link HashTable.of}. */
  get slots(): HashSlots {
    return { hashes: this.#hashes, slots: this.#slots, numbers: this.#numbers };
  }

  get size(): number {
    return this.#size;
  }

  /** -1 if it has none. */
  find(hash: number): number {
    return ((this.#slots[this.#slot(hash)] ?? 0) & this.#numbers) - 1;
  }

  add(hash: number): number {
    const number = (this.#slots[this.#slot(hash)] ?? 0) & this.#numbers;
    if (number > 0) return number - 1;
    if (this.#size === this.#hashes.length) this.#grow();
    this.#hashes[this.#size] = hash;
    this.#size += 1;
    this.#place(hash, this.#size);
    return this.#size - 1;
  }

  /** A view. */
  hashes(): Int32Array {
    return this.#hashes.subarray(0, this.#size);
  }

  /** Where this hash is, or the empty slot where it belongs. */
  #slot(hash: number): number {
    const numbers = this.#numbers;
    const mask = this.#slots.length - 1;
    const bits = spread(hash);
    let slot = bits & mask;
    for (let held = this.#slots[slot] ?? 0; held !== 0; held = this.#slots[slot] ?? 0) {
      if (((held ^ bits) & ~numbers) === 0 && this.#hashes[(held & numbers) - 1] === hash) break;
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  #place(hash: number, number: number): void {
    this.#slots[this.#slot(hash)] = (spread(hash) & ~this.#numbers) | number;
  }

  #grow(): void {
    this.#hashes = withRoom(this.#hashes, this.#size + 1);
    this.#slots = new Int32Array(slotsFor(this.#hashes.length));
    this.#numbers = numberMask(this.#hashes.length);
    for (let at = 0; at < this.#size; at += 1) this.#place(this.#hashes[at] ?? 0, at + 1);
  }
}

function slotsFor(size: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(2, SLOTS_FOR_EACH * size)));
}

/** Covers all numbers from 1 to `size`. */
function numberMask(size: number): number {
  return 2 ** (32 - Math.clz32(size)) - 1;
}

/** Its lowest bits say where a hash belongs; as in src/engine/kernels/assembly/number-hashes.ts. */
function spread(hash: number): number {
  return Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
}

/** Elements of an arena that {@link HashTable.of} takes. */
export const hashTableCounts = (hashes: number): [number, number] => [hashes, slotsFor(hashes)];

function arenaFor({ length }: Int32Array): Arena {
  return new Arena(Arena.bytesFor(hashTableCounts(length)));
}

/** Grows an array that is too short to twice the length. */
export function withRoom<T extends Int32Array | Float32Array>(array: T, length: number): T;
export function withRoom(array: Int32Array | Float32Array, length: number): Int32Array | Float32Array {
  if (array.length >= length) return array;
  const larger = array instanceof Int32Array ? new Int32Array(2 * length) : new Float32Array(2 * length);
  larger.set(array);
  return larger;
}

/**
 * Caches the classes of the first 65,536 code points; `classify` must not return 0.
 * @param known characters of each class, to do without `classify`: patterns of Unicode take milliseconds to compile
 */
export function rememberedByCodePoint(
  classify: (character: string) => number,
  known: Readonly<Record<number, string>>,
): (codePoint: number) => number {
  const remembered = new Uint8Array(0x10000);
  for (const [kind, characters] of Object.entries(known)) {
    for (let at = 0; at < characters.length; at += 1) remembered[characters.charCodeAt(at)] = Number(kind);
  }
  return (codePoint) => {
    const kind = remembered[codePoint];
    if (kind) return kind;
    const found = classify(String.fromCodePoint(codePoint));
    if (codePoint < remembered.length) remembered[codePoint] = found;
    return found;
  };
}

const LOWER = 'abcdefghijklmnopqrstuvwxyz';
/** ASCII by Unicode's categories. */
export const ascii = {
  lower: LOWER,
  upper: LOWER.toUpperCase(),
  digits: '0123456789',
  punctuation: '!"#%&\'()*,-./:;?@[\\]_{}',
  symbols: '$+<=>^`|~',
} as const;

/** The ids of the largest values above 0, ascending. */
export function largestIds(values: Float32Array | Int32Array, count: number): Int32Array {
  const ids = Int32Array.from(values.keys()).filter((id) => (values[id] ?? 0) > 0);
  if (ids.length <= count) return ids;
  ids.sort((a, b) => (values[b] ?? 0) - (values[a] ?? 0) || a - b);
  return ids.slice(0, count).sort();
}

/**
 * Remembers at least half as many of the entries used last as it may hold. When the newer half is full, the older one is
 * forgotten, so that a look-up changes nothing in most cases.
 */
export class RecentEntries<Key, Value extends object | number> {
  readonly #half: number;
  #newer = new Map<Key, Value>();
  #older = new Map<Key, Value>();

  constructor(most: number) {
    this.#half = Math.ceil(most / 2);
  }

  get(key: Key): Value | undefined {
    const newer = this.#newer.get(key);
    if (newer !== undefined) return newer;
    const older = this.#older.get(key);
    if (older !== undefined) this.set(key, older);
    return older;
  }

  set(key: Key, value: Value): void {
    if (this.#newer.size >= this.#half) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(key, value);
  }
}
