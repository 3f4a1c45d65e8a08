/**
 * Entries of one shared buffer: 32 KiB, which even a single small array keeps in memory as long as it is
 * used.
 */
const POOL_LENGTH = 1 << 13;
/** Longer arrays get a buffer of their own. */
const MAX_SHARED_LENGTH = POOL_LENGTH >> 3;

/**
 * Hands out zeroed arrays, small ones as views of a shared buffer, as Node's Buffer.allocUnsafe does. A typed
 * array of its own costs about 1 µs, so the four of an encoding would take longer than tokenizing a short
 * text.
 */
export class ArrayPool {
  #shared = new Int32Array(POOL_LENGTH);
  #used = 0;

  take(length: number): Int32Array {
    if (length > MAX_SHARED_LENGTH) return new Int32Array(length);
    if (this.#used + length > POOL_LENGTH) {
      this.#shared = new Int32Array(POOL_LENGTH);
      this.#used = 0;
    }
    const start = this.#used;
    this.#used += length;
    return this.#shared.subarray(start, this.#used);
  }
}
