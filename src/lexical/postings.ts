/** Where the terms of a collection occur, term by term. */
export interface Postings {
  /** Where each term's entries start in the two arrays below; one more entry at the end. [terms + 1] */
  readonly starts: Int32Array;
  /** Ascending for each term. [entries] */
  readonly passages: Int32Array;
  /** How often the term occurs in the passage, at most {@link MAX_FREQUENCY}. [entries] */
  readonly frequencies: Int8Array;
}

/** More occurrences than this count as this many, which changes a BM25 score by less than a hundredth. */
export const MAX_FREQUENCY = 127;

/** Gathers postings passage by passage. */
export class PostingsBuilder {
  readonly #terms = new IntegerList();
  readonly #passages = new IntegerList();
  readonly #frequencies = new IntegerList();
  #passageCount = 0;

  /** @param terms ids of the next passage's terms, repeated as often as they occur. */
  addPassage(terms: Iterable<number>): void {
    const frequencies = new Map<number, number>();
    for (const term of terms) frequencies.set(term, (frequencies.get(term) ?? 0) + 1);
    for (const [term, frequency] of frequencies) {
      this.#terms.push(term);
      this.#passages.push(this.#passageCount);
      this.#frequencies.push(Math.min(MAX_FREQUENCY, frequency));
    }
    this.#passageCount += 1;
  }

  /** Sorts what was gathered by term (counting sort, which keeps the passages ascending). */
  build(termCount: number): Postings {
    const terms = this.#terms.values();
    const starts = new Int32Array(termCount + 1);
    for (const term of terms) starts[term + 1] = (starts[term + 1] ?? 0) + 1;
    for (let term = 0; term < termCount; term += 1)
      starts[term + 1] = (starts[term + 1] ?? 0) + (starts[term] ?? 0);
    const next = starts.slice();
    const passages = new Int32Array(terms.length);
    const frequencies = new Int8Array(terms.length);
    const givenPassages = this.#passages.values();
    const givenFrequencies = this.#frequencies.values();
    for (const [entry, term] of terms.entries()) {
      const place = next[term] ?? 0;
      next[term] = place + 1;
      passages[place] = givenPassages[entry] ?? 0;
      frequencies[place] = givenFrequencies[entry] ?? 0;
    }
    return { starts, passages, frequencies };
  }
}

/** What is wrong with postings read from a file; undefined if nothing is. */
export function findPostingsProblem(
  postings: Postings,
  termCount: number,
  lengths: Int32Array,
): string | undefined {
  const passageCount = lengths.length;
  const { starts, passages, frequencies } = postings;
  if (starts.length !== termCount + 1) return `${termCount} terms need ${termCount + 1} starts`;
  const ascending = starts.every((start, term) => start >= (starts[term - 1] ?? 0));
  if (!ascending || starts[0] !== 0 || starts.at(-1) !== passages.length) return "its starts don't fit";
  if (frequencies.length !== passages.length) return 'passages and frequencies differ in length';
  const inRange = passages.every((passage) => passage >= 0 && passage < passageCount);
  if (!frequencies.every((frequency) => frequency > 0)) return 'a posting has no occurrence';
  if (!lengths.every((length) => length >= 0)) return 'a passage has a length below 0';
  return inRange ? undefined : `a posting names a passage beyond the ${passageCount} there are`;
}

/** Integers in a buffer that grows. */
class IntegerList {
  #buffer = new Int32Array(1024);
  #length = 0;

  push(value: number): void {
    if (this.#length === this.#buffer.length) {
      const grown = new Int32Array(2 * this.#length);
      grown.set(this.#buffer);
      this.#buffer = grown;
    }
    this.#buffer[this.#length] = value;
    this.#length += 1;
  }

  values(): Int32Array {
    return this.#buffer.subarray(0, this.#length);
  }
}
