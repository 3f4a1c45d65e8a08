import { ThreadChoice, type ThreadChoiceOptions, type Width } from '../graph/index.js';

/** Runs that were alone before a second session is worth its memory. */
const RUNS_BEFORE = 8;
/** Several threads take processors from others, so they must save a tenth of the time. */
const CHOICE: ThreadChoiceOptions = { first: 'narrow', toWide: 0.9, toNarrow: 1.05 };

/**
 * Decides how many threads a run uses that has the machine for itself, for runs of similar size by themselves: small
 * ones are often faster with one thread, and beside busy processes all may be.
 */
export class RunThreads {
  readonly #sizes = new Map<number, ThreadChoice>();
  #runs = 0;

  /** Whether enough runs were alone for a session of several threads to be worth while. */
  get wantsWide(): boolean {
    return this.#runs >= RUNS_BEFORE;
  }

  /** @param tokens of the run. */
  choose(tokens: number): Width {
    return this.wantsWide ? this.#of(tokens).width : 'narrow';
  }

  /** @param ms how long a run took that was alone and as wide as was chosen. */
  learn(tokens: number, ms: number): void {
    if (this.wantsWide) this.#of(tokens).learn({ size: Math.max(1, tokens), ms });
    this.#runs += 1;
  }

  /** Runs of similar size, within a factor of two. */
  #of(tokens: number): ThreadChoice {
    const size = Math.floor(Math.log2(Math.max(1, tokens)));
    const known = this.#sizes.get(size);
    if (known !== undefined) return known;
    const choice = new ThreadChoice(CHOICE);
    this.#sizes.set(size, choice);
    return choice;
  }
}
