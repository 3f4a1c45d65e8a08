/** Weights by name that are read, or computed, each time that they are asked for, so that none stays in memory. */
export class LazyWeights implements ReadonlyMap<string, Float32Array> {
  readonly #read: ReadonlyMap<string, () => Float32Array>;

  constructor(read: Iterable<readonly [name: string, read: () => Float32Array]>) {
    this.#read = new Map(read);
  }

  get size(): number {
    return this.#read.size;
  }

  has(name: string): boolean {
    return this.#read.has(name);
  }

  get(name: string): Float32Array | undefined {
    return this.#read.get(name)?.();
  }

  keys(): MapIterator<string> {
    return this.#read.keys();
  }

  *entries(): MapIterator<[string, Float32Array]> {
    for (const [name, read] of this.#read) yield [name, read()];
  }

  *values(): MapIterator<Float32Array> {
    for (const [, values] of this.entries()) yield values;
  }

  [Symbol.iterator](): MapIterator<[string, Float32Array]> {
    return this.entries();
  }

  forEach(visit: (values: Float32Array, name: string, weights: ReadonlyMap<string, Float32Array>) => void): void {
    for (const [name, values] of this.entries()) visit(values, name, this);
  }
}
