import { isListed, type KeyRange } from './listing.js';

/** Distinct keys in the order of their UTF-16 code units. */
export class SortedKeys {
  readonly #keys: string[] = [];

  add(key: string): void {
    this.#keys.splice(
      this.#countBefore((other) => other < key),
      0,
      key,
    );
  }

  delete(key: string): void {
    const at = this.#countBefore((other) => other < key);
    if (this.#keys[at] === key) this.#keys.splice(at, 1);
  }

  /** The first keys of a range, in its order. */
  first(range: KeyRange, limit: number): string[] {
    const step = range.reverse ? -1 : 1;
    const found: string[] = [];
    for (let at = this.#start(range); found.length < limit; at += step) {
      const key = this.#keys[at];
      if (key === undefined || !isListed(key, range)) break;
      found.push(key);
    }
    return found;
  }

  #start({ prefix = '', after, reverse }: KeyRange): number {
    if (!reverse) {
      return this.#countBefore((key) => key < prefix || (after !== undefined && key <= after));
    }
    const beyond = this.#countBefore(
      (key) => (key < prefix || key.startsWith(prefix)) && (after === undefined || key < after),
    );
    return beyond - 1;
  }

  /** How many keys `before` holds for; it must hold for the first ones only. */
  #countBefore(before: (key: string) => boolean): number {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const key = this.#keys[middle];
      if (key !== undefined && before(key)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
