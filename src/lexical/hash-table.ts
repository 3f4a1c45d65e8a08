/** One step of a multiplicative hash over 32-bit integers. */
export function combineHash(hash: number, value: number): number {
  const mixed = Math.imul(hash ^ value, 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}

/** Numbers 32-bit hashes in the order in which they are first seen: open addressing with linear probing. */
export class HashTable {
  #keys: Int32Array;
  /** Number of each key, plus one; 0 marks an empty slot. */
  #numbers: Int32Array;
  #mask: number;
  #size = 0;

  /** @param expected how many hashes it should hold without growing. */
  constructor(expected = 1024) {
    const slots = 2 ** Math.ceil(Math.log2(Math.max(2, 2 * expected)));
    this.#keys = new Int32Array(slots);
    this.#numbers = new Int32Array(slots);
    this.#mask = slots - 1;
  }

  /** A table that numbers `hashes` by their positions. */
  static of(hashes: Int32Array): HashTable {
    const table = new HashTable(hashes.length);
    for (const hash of hashes) table.add(hash);
    return table;
  }

  get size(): number {
    return this.#size;
  }

  /** @returns the number of this hash, or -1 if it has none. */
  find(hash: number): number {
    return (this.#numbers[this.#slot(hash)] ?? 0) - 1;
  }

  /** @returns the number of this hash, a new one if it had none. */
  add(hash: number): number {
    const slot = this.#slot(hash);
    const number = this.#numbers[slot] ?? 0;
    if (number > 0) return number - 1;
    this.#keys[slot] = hash;
    this.#size += 1;
    this.#numbers[slot] = this.#size;
    if (2 * this.#size > this.#mask) this.#grow();
    return this.#size - 1;
  }

  /** Every hash, by number. */
  hashes(): Int32Array {
    const hashes = new Int32Array(this.#size);
    for (const [slot, number] of this.#numbers.entries()) {
      if (number > 0) hashes[number - 1] = this.#keys[slot] ?? 0;
    }
    return hashes;
  }

  /** Where this hash is, or the empty slot where it belongs. */
  #slot(hash: number): number {
    let slot = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b) & this.#mask;
    while (this.#numbers[slot] !== 0 && this.#keys[slot] !== hash) slot = (slot + 1) & this.#mask;
    return slot;
  }

  #grow(): void {
    const hashes = this.hashes();
    this.#keys = new Int32Array(2 * this.#keys.length);
    this.#numbers = new Int32Array(this.#keys.length);
    this.#mask = this.#keys.length - 1;
    for (const [number, hash] of hashes.entries()) {
      const slot = this.#slot(hash);
      this.#keys[slot] = hash;
      this.#numbers[slot] = number + 1;
    }
  }
}
