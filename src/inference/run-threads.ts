/** Runs that were alone before a second session is worth its memory. */
const RUNS_BEFORE = 8;
/** Newest runs of each kind that are compared, by their median: one that something else held up decides nothing. */
const COMPARED = 5;
/** Runs of each kind before the faster one is chosen. */
const SAMPLES = 3;
/** After so many runs, the kind that is not chosen is tried once: the machine may be busier, or freer, by now. */
const RUNS_PER_TRIAL = 32;
/** The share of time that several threads must save. */
const GAIN = 0.1;

/** One thread, or as many as a run may use. */
export type Width = 'narrow' | 'wide';

/**
 * Decides how many threads a run uses that has the machine for itself: by what runs of about its size took before with
 * one and with several. Small runs are often faster with one thread, and beside busy processes all are.
 */
export class RunThreads {
  readonly #sizes = new Map<number, Readonly<Record<Width, Newest>>>();
  #runs = 0;

  /** Whether enough runs were alone for a session of several threads to be worth while. */
  get wantsWide(): boolean {
    return this.#runs >= RUNS_BEFORE;
  }

  /** @param tokens of the run. */
  choose(tokens: number): Width {
    const { narrow, wide } = this.#of(tokens);
    if (narrow.count < SAMPLES) return 'narrow';
    if (wide.count < SAMPLES) return 'wide';
    const better: Width = wide.median < (1 - GAIN) * narrow.median ? 'wide' : 'narrow';
    const isTrial = (narrow.count + wide.count) % RUNS_PER_TRIAL === 0;
    return isTrial === (better === 'wide') ? 'narrow' : 'wide';
  }

  /** @param ms how long a run that was alone took. */
  learn(tokens: number, width: Width, ms: number): void {
    this.#of(tokens)[width].add(ms / tokens);
    this.#runs += 1;
  }

  /** Runs of similar size, within a factor of two. */
  #of(tokens: number): Readonly<Record<Width, Newest>> {
    const size = Math.floor(Math.log2(Math.max(1, tokens)));
    const known = this.#sizes.get(size);
    if (known !== undefined) return known;
    const sizes = { narrow: new Newest(), wide: new Newest() };
    this.#sizes.set(size, sizes);
    return sizes;
  }
}

/** The newest measurements of something. */
class Newest {
  readonly #values: number[] = [];
  #added = 0;

  /** How many count: not the first, in which the runtime also lays out its memory. */
  get count(): number {
    return Math.max(0, this.#added - 1);
  }

  get median(): number {
    const sorted = this.#values.toSorted((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? Number.POSITIVE_INFINITY;
  }

  add(value: number): void {
    if (this.#added > 0) this.#values[(this.#added - 1) % COMPARED] = value;
    this.#added += 1;
  }
}
