import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plusFromState } from 'pure-rand/generator/xoroshiro128plus';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';

/** A seeded generator (xoroshiro128+). */
export class Random {
  readonly #generator: RandomGenerator;

  private constructor(state: readonly number[]) {
    this.#generator = xoroshiro128plusFromState(state);
  }

  /** @param seeds one or more 32-bit integers; different lists, even (1, 2) and (2, 1), give unrelated streams. */
  static fromSeed(...seeds: readonly number[]): Random {
    let hash = 0;
    for (const seed of seeds) hash = mix(hash + seed + WEYL);
    return new Random([1, 2, 3, 4].map((word) => mix(hash + word * WEYL)));
  }

  /** Uniform in [0, 1). */
  uniform(): number {
    return uniformFloat64(this.#generator);
  }

  /** A whole number from 0 to `below` − 1, all equally likely. */
  integer(below: number): number {
    return uniformInt(this.#generator, 0, below - 1);
  }

  /**
   * Normal with mean 0 and variance 1 (Box & Muller 1958; the second value is dropped, which keeps the state small).
   */
  normal(): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.uniform()));
    return radius * Math.cos(2 * Math.PI * this.uniform());
  }

  /** A new array with the same items, every order equally likely (Fisher–Yates). */
  shuffle<T>(items: Iterable<T>): T[] {
    // Inside out (Knuth, TAOCP 2, 3.4.2): each item takes a random place, and the item there moves to the end.
    const shuffled: T[] = [];
    for (const item of items) {
      const place = this.integer(shuffled.length + 1);
      shuffled.push(...shuffled.slice(place, place + 1));
      shuffled[place] = item;
    }
    return shuffled;
  }
}

/** 2^32 / golden ratio, odd: spaces out the inputs of `mix`. */
const WEYL = 0x9e3779b9;

/** The finalizer of MurmurHash3 (Appleby 2011): a permutation of the 32-bit integers in which every bit affects all. */
function mix(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}
