/** The smallest normal float32; numbers with a smaller scale are rounded to 0. */
const SMALLEST_SCALE = 2 ** -126;

/**
 * Rounds numbers to integers with one scale for all: number ≈ integer · scale, the largest becoming ±`most`.
 * @param integers the output, as many as there are numbers.
 * @returns the scale, a float32; 0 if all numbers are 0 or nearly so, and Infinity or NaN if one of them
 *   isn't finite.
 */
export function quantizeRow(numbers: Float32Array, most: number, integers: Int8Array | Int16Array): number {
  let largest = 0;
  for (let at = 0; at < numbers.length; at += 1) largest = Math.max(largest, Math.abs(numbers[at] ?? 0));
  const scale = Math.fround(largest / most);
  if (scale < SMALLEST_SCALE) {
    integers.fill(0);
    return 0;
  }
  for (let at = 0; at < numbers.length; at += 1) integers[at] = Math.round((numbers[at] ?? 0) / scale);
  return scale;
}

/** A search hit, by its position in what was searched. */
export interface Scored {
  readonly id: number;
  readonly score: number;
}

/** With fewer scores for each one asked for, a heap alone is as quick. */
const MANY_FOR_EACH = 8;

/** The k highest scores in order, of equal ones the lower id first. @param above only scores above this count. */
export function topScores(scores: Float32Array, k: number, above = Number.NEGATIVE_INFINITY): Scored[] {
  const heap = new WorstFirstHeap(Math.max(0, Math.min(k, scores.length)));
  let bar = scores.length < MANY_FOR_EACH * k ? above : Math.max(above, scoreBelowTop(scores, k));
  for (let id = 0; id < scores.length; id += 1) {
    const score = scores[id] ?? 0;
    if (!(score > bar)) continue;
    heap.offer(id, score);
    if (heap.isFull) bar = Math.max(bar, heap.worstScore);
  }
  return heap.drain();
}

/** How finely {@link scoreBelowTop} tells scores apart: into this many parts of their range. */
const PARTS = 1024;
/** How many scores lie in each part; used by one call at a time. */
const counts = new Int32Array(PARTS);

/** A bar close below the k-th highest score, by a histogram. −∞ if there are fewer, or one isn't finite. */
export function scoreBelowTop(scores: Float32Array, k: number): number {
  let lowest = Number.POSITIVE_INFINITY;
  let highest = Number.NEGATIVE_INFINITY;
  for (let id = 0; id < scores.length; id += 1) {
    const score = scores[id] ?? 0;
    lowest = Math.min(lowest, score);
    highest = Math.max(highest, score);
  }
  const perScore = (PARTS - 1) / (highest - lowest);
  if (!(perScore > 0 && perScore < Number.POSITIVE_INFINITY)) return Number.NEGATIVE_INFINITY;
  counts.fill(0);
  for (let id = 0; id < scores.length; id += 1) {
    const part = (((scores[id] ?? 0) - lowest) * perScore) | 0;
    counts[part] = (counts[part] ?? 0) + 1;
  }
  let part = PARTS;
  for (let missing = k; missing > 0 && part > 0; missing -= counts[part] ?? 0) part -= 1;
  // One part lower, beyond what rounding could move; the lowest part has nothing below.
  return part <= 1 ? Number.NEGATIVE_INFINITY : lowest + (part - 1) / perScore;
}

/** Ids in a binary heap with the worst at the top; worse is a lower score or, of equal ones, a higher id. */
class WorstFirstHeap {
  readonly #ids: Int32Array;
  readonly #scores: Float32Array;
  #size = 0;

  constructor(capacity: number) {
    this.#ids = new Int32Array(capacity);
    this.#scores = new Float32Array(capacity);
  }

  get isFull(): boolean {
    return this.#size === this.#ids.length;
  }

  /** ∞ if nothing can be held at all. */
  get worstScore(): number {
    return this.#scores[0] ?? Number.POSITIVE_INFINITY;
  }

  /** Adds an id that is better than the worst one, which drops out if the heap is full. */
  offer(id: number, score: number): void {
    if (this.isFull) this.#sink(id, score);
    else this.#rise(id, score);
  }

  drain(): Scored[] {
    const taken: Scored[] = [];
    while (this.#size > 0) {
      taken.push({ id: this.#ids[0] ?? 0, score: this.#scores[0] ?? 0 });
      this.#size -= 1;
      this.#sink(this.#ids[this.#size] ?? 0, this.#scores[this.#size] ?? 0);
    }
    return taken.reverse();
  }

  #rise(id: number, score: number): void {
    let place = this.#size;
    this.#size += 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!this.#isBefore(id, score, parent)) break;
      this.#move(parent, place);
      place = parent;
    }
    this.#put(place, id, score);
  }

  #sink(id: number, score: number): void {
    let place = 0;
    for (let child = 1; child < this.#size; child = 2 * place + 1) {
      const right = child + 1;
      if (right < this.#size && this.#isBefore(this.#ids[right] ?? 0, this.#scores[right] ?? 0, child)) {
        child = right;
      }
      if (this.#isBefore(id, score, child)) break;
      this.#move(child, place);
      place = child;
    }
    if (this.#size > 0) this.#put(place, id, score);
  }

  /** Whether an entry is worse than the one in a place. */
  #isBefore(id: number, score: number, place: number): boolean {
    const other = this.#scores[place] ?? 0;
    return score < other || (score === other && id > (this.#ids[place] ?? 0));
  }

  #move(from: number, to: number): void {
    this.#put(to, this.#ids[from] ?? 0, this.#scores[from] ?? 0);
  }

  #put(place: number, id: number, score: number): void {
    this.#ids[place] = id;
    this.#scores[place] = score;
  }
}
