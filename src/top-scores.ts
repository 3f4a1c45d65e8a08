/** A search hit, by its position in what was searched. */
export interface Scored {
  readonly id: number;
  readonly score: number;
}

/**
 * The k highest of these scores, highest first; of equal ones the lower id comes first. In a bounded heap, so
 * that most scores cost one comparison.
 * @param above only scores above this count. Default: all but −∞ and NaN.
 */
export function topScores(scores: Float32Array, k: number, above = Number.NEGATIVE_INFINITY): Scored[] {
  const heap = new WorstFirstHeap(scores, Math.min(k, scores.length));
  let bar = above;
  for (let id = 0; id < scores.length; id += 1) {
    const score = scores[id] ?? 0;
    if (!(score > bar)) continue;
    heap.offer(id);
    if (heap.isFull) bar = Math.max(bar, heap.worstScore);
  }
  return heap.ids().map((id) => ({ id, score: scores[id] ?? 0 }));
}

/** Ids in a binary heap with the worst at the top; worse is a lower score or, of equal ones, a higher id. */
class WorstFirstHeap {
  readonly #ids: Int32Array;
  #size = 0;

  readonly #scores: Float32Array;

  constructor(scores: Float32Array, capacity: number) {
    this.#scores = scores;

    this.#ids = new Int32Array(Math.max(0, capacity));
  }

  get isFull(): boolean {
    return this.#size === this.#ids.length;
  }

  /** ∞ if nothing can be held at all. */
  get worstScore(): number {
    return this.#ids.length === 0 ? Number.POSITIVE_INFINITY : (this.#scores[this.#at(0)] ?? 0);
  }

  /** Adds an id that is better than the worst one, which drops out if the heap is full. */
  offer(id: number): void {
    if (this.#ids.length === 0) return;
    if (this.isFull) {
      this.#ids[0] = id;
      this.#sink();
      return;
    }
    this.#ids[this.#size] = id;
    this.#size += 1;
    this.#rise();
  }

  /** Best first. */
  ids(): number[] {
    return [...this.#ids.subarray(0, this.#size)].sort((a, b) => (this.#isWorse(a, b) ? 1 : -1));
  }

  #at(place: number): number {
    return this.#ids[place] ?? 0;
  }

  #isWorse(a: number, b: number): boolean {
    const difference = (this.#scores[a] ?? 0) - (this.#scores[b] ?? 0);
    return difference < 0 || (difference === 0 && a > b);
  }

  #swap(a: number, b: number): void {
    const id = this.#at(a);
    this.#ids[a] = this.#at(b);
    this.#ids[b] = id;
  }

  #rise(): void {
    let place = this.#size - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!this.#isWorse(this.#at(place), this.#at(parent))) return;
      this.#swap(place, parent);
      place = parent;
    }
  }

  #sink(): void {
    let place = 0;
    while (true) {
      const left = 2 * place + 1;
      if (left >= this.#size) return;
      const right = left + 1;
      const worse = right < this.#size && this.#isWorse(this.#at(right), this.#at(left)) ? right : left;
      if (!this.#isWorse(this.#at(worse), this.#at(place))) return;
      this.#swap(place, worse);
      place = worse;
    }
  }
}
