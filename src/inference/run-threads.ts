/** Runs that were alone before a second session is worth its memory. */
const RUNS_BEFORE = 8;
/** Samples of each kind before the faster one is chosen. */
const SAMPLES = 4;
/** After so many runs, the kind that is not chosen is tried once: the machine may be busier, or freer, by now. */
const RUNS_PER_TRIAL = 64;
/** The share of time that several threads must save. */
const GAIN = 0.1;
const NEWEST = 0.3;

/** One thread, or as many as a run may use. */
export type Width = 'narrow' | 'wide';

interface Sizes {
  runs: number;
  readonly narrow: Sample;
  readonly wide: Sample;
}

interface Sample {
  count: number;
  ms: number;
}

/**
 * Decides how many threads a run uses that has the machine for itself: by what runs of about its size took before with
 * one and with several. Small runs are often faster with one thread, and beside busy processes all are.
 */
export class RunThreads {
  readonly #sizes = new Map<number, Sizes>();
  #runs = 0;

  /** Whether enough runs were alone for a session of several threads to be worth while. */
  get wantsWide(): boolean {
    return this.#runs >= RUNS_BEFORE;
  }

  /** @param tokens of the run. */
  choose(tokens: number): Width {
    const { runs, narrow, wide } = this.#of(tokens);
    if (narrow.count < SAMPLES) return 'narrow';
    if (wide.count < SAMPLES) return 'wide';
    const better: Width = wide.ms < (1 - GAIN) * narrow.ms ? 'wide' : 'narrow';
    if (runs % RUNS_PER_TRIAL === 0) return better === 'wide' ? 'narrow' : 'wide';
    return better;
  }

  /** @param ms how long a run that was alone took. */
  learn(tokens: number, width: Width, ms: number): void {
    const sizes = this.#of(tokens);
    const sample = sizes[width];
    const perToken = ms / tokens;
    sample.ms = sample.count === 0 ? perToken : sample.ms + NEWEST * (perToken - sample.ms);
    sample.count += 1;
    sizes.runs += 1;
    this.#runs += 1;
  }

  /** Runs of similar size, within a factor of two. */
  #of(tokens: number): Sizes {
    const size = Math.floor(Math.log2(Math.max(1, tokens)));
    const known = this.#sizes.get(size);
    if (known !== undefined) return known;
    const sizes = { runs: 0, narrow: { count: 0, ms: 0 }, wide: { count: 0, ms: 0 } };
    this.#sizes.set(size, sizes);
    return sizes;
  }
}
