import { Random } from '../../src/system/numbers.js';

/** Choices by a seed. */
export class Chance {
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = Random.fromSeed(seed);
  }

  /** 0 to n − 1. */
  below(n: number): number {
    return this.#random.integer(n);
  }

  of<T>(choices: readonly [T, ...T[]]): T {
    return choices[this.below(choices.length)] ?? choices[0];
  }
}
