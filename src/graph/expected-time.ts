/** Weight of a run after each further one: about the last ten count. */
const KEPT = 0.9;
/** Sizes whose variance is less than this share of their mean's square don't tell what starting a run costs. */
const LEAST_VARIANCE = 0.01;
/** A run that took longer than so many times what was expected counts as this: something may have held it up. */
const MOST_HELD_UP = 1.5;

/** How long runs take now, by their size: start + size · rate, fitted to the newest runs by least squares of ms / size. */
export class ExpectedTime {
  /** Sums over runs: of 1, 1 / size, 1 / size², ms / size and ms / size². */
  #ones = 0;
  #inverses = 0;
  #squares = 0;
  #rates = 0;
  #products = 0;

  /** In milliseconds; undefined as long as nothing is known. */
  of(size: number): number | undefined {
    if (this.#ones === 0) return undefined;
    const spread = this.#ones * this.#squares - this.#inverses ** 2;
    if (spread > LEAST_VARIANCE * this.#inverses ** 2) {
      const start = (this.#ones * this.#products - this.#inverses * this.#rates) / spread;
      const rate = (this.#rates - start * this.#inverses) / this.#ones;
      if (rate > 0 && start >= 0) return start + rate * size;
    }
    return (this.#rates / this.#ones) * size;
  }

  /** @param size above 0. @param ms above 0. */
  add(size: number, ms: number): void {
    const inverse = 1 / size;
    const rate = Math.min(ms, MOST_HELD_UP * (this.of(size) ?? ms)) / size;
    this.#ones = KEPT * this.#ones + 1;
    this.#inverses = KEPT * this.#inverses + inverse;
    this.#squares = KEPT * this.#squares + inverse ** 2;
    this.#rates = KEPT * this.#rates + rate;
    this.#products = KEPT * this.#products + rate * inverse;
  }
}
