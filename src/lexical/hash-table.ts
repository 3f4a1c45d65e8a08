import { Arena, type Kernels, loadKernels } from '../engine/index.js';

export function combineHash(hash: number, value: number): number {
  const mixed = Math.imul(hash ^ value, 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}

/** At least so many that a look-up seldom meets more than one other hash. */
const SLOTS_FOR_EACH = 1.5;

/** Steps from where a hash belongs, at most and on average; chance stays below a tenth of both, collisions don't. */
const MAX_STEPS = 4096;
const MAX_MEAN_STEPS = 64;

/** Numbers hashes in the order in which they are first seen: open addressing with linear probing. */
export class HashTable {
  /** There may be room for more. */
  #hashes: Int32Array;
  /** The number of the hash that is here, plus one; 0 marks an empty slot. */
  #slots: Int32Array;
  #size = 0;

  constructor(expected = 1024) {
    this.#hashes = new Int32Array(expected);
    this.#slots = new Int32Array(slotsFor(expected));
  }

  /**
   * Copies them. Smaller than `hashes.length` if one occurs twice, or too many belong in the same slots.
   * @param arena has room for {@link hashTableCounts}
   */
  static of(hashes: Int32Array, arena = arenaFor(hashes), kernels: Kernels = loadKernels(arena)): HashTable {
    const table = new HashTable(0);
    table.#hashes = arena.int32(hashes.length);
    table.#hashes.set(hashes);
    table.#slots = arena.int32(slotsFor(hashes.length));
    table.#size = kernels.numberHashes(table.#hashes, table.#slots, { most: MAX_STEPS, mean: MAX_MEAN_STEPS });
    return table;
  }

  get size(): number {
    return this.#size;
  }

  /** -1 if it has none. */
  find(hash: number): number {
    return (this.#slots[this.#slot(hash)] ?? 0) - 1;
  }

  /** Writes known numbers from `first` on. @returns their end. Its first loop has no branches: waits overlap. */
  findAll(given: Int32Array, start: number, end: number, numbers: Int32Array, first: number): number {
    const slots = this.#slots;
    const hashes = this.#hashes;
    const mask = slots.length - 1;
    for (let at = start, to = first; at < end; at += 1, to += 1) {
      numbers[to] = slots[startOf(given[at] ?? 0) & mask] ?? 0;
    }
    let last = first;
    for (let at = start, from = first; at < end; at += 1, from += 1) {
      let number = numbers[from] ?? 0;
      if (number === 0) continue;
      const hash = given[at] ?? 0;
      let slot = startOf(hash) & mask;
      while (number !== 0 && hashes[number - 1] !== hash) {
        slot = (slot + 1) & mask;
        number = slots[slot] ?? 0;
      }
      if (number === 0) continue;
      numbers[last] = number - 1;
      last += 1;
    }
    return last;
  }

  add(hash: number): number {
    const slot = this.#slot(hash);
    const number = this.#slots[slot] ?? 0;
    if (number > 0) return number - 1;
    if (this.#size === this.#hashes.length) this.#grow();
    this.#hashes[this.#size] = hash;
    this.#size += 1;
    // Where the slots have grown, the hash belongs elsewhere.
    this.#slots[this.#slot(hash)] = this.#size;
    return this.#size - 1;
  }

  /** A view. */
  hashes(): Int32Array {
    return this.#hashes.subarray(0, this.#size);
  }

  /** Where this hash is, or the empty slot where it belongs. */
  #slot(hash: number): number {
    const mask = this.#slots.length - 1;
    let slot = startOf(hash) & mask;
    let number = this.#slots[slot] ?? 0;
    while (number !== 0 && this.#hashes[number - 1] !== hash) {
      slot = (slot + 1) & mask;
      number = this.#slots[slot] ?? 0;
    }
    return slot;
  }

  #grow(): void {
    this.#hashes = withRoom(this.#hashes, this.#size + 1);
    this.#slots = new Int32Array(slotsFor(this.#hashes.length));
    for (let number = 0; number < this.#size; number += 1) {
      this.#slots[this.#slot(this.#hashes[number] ?? 0)] = number + 1;
    }
  }
}

function slotsFor(size: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(2, SLOTS_FOR_EACH * size)));
}

/** As in src/engine/kernels/assembly/number-hashes.ts. */
function startOf(hash: number): number {
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

/** Caches the classes of the first 65,536 code points; `classify` must not return 0. */
export function rememberedByCodePoint(classify: (character: string) => number): (codePoint: number) => number {
  const known = new Uint8Array(0x10000);
  return (codePoint) => {
    const remembered = known[codePoint];
    if (remembered) return remembered;
    const found = classify(String.fromCodePoint(codePoint));
    if (codePoint < known.length) known[codePoint] = found;
    return found;
  };
}

/** The ids of the largest values above 0, ascending. */
export function largestIds(values: Float32Array | Int32Array, count: number): Int32Array {
  const ids = Int32Array.from(values.keys()).filter((id) => (values[id] ?? 0) > 0);
  if (ids.length <= count) return ids;
  ids.sort((a, b) => (values[b] ?? 0) - (values[a] ?? 0) || a - b);
  return ids.slice(0, count).sort();
}
