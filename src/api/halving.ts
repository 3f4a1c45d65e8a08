/**
 * Which trial of `tune` runs next: asynchronous successive halving (ASHA: Li et al. 2020, "A System for Massively Parallel
 * Hyperparameter Tuning", algorithm 2) with one worker. A rung is a length of training; of the trials that have run on a
 * rung, the best 1 / {@link FACTOR} go on to the next. The number of trials need not be known in advance, so a search can
 * end at any time.
 */

/** One in this many trials goes on: η in the paper, with its value. */
export const FACTOR = 3;
/** The lowest of three rungs trains for a ninth of the epochs. */
const MOST_RUNGS = 3;

/** The length of each rung as a share of a full training's epochs, shortest first; the last is 1. */
export function rungShares(epochs: number): readonly number[] {
  const rungs = Math.min(MOST_RUNGS, 1 + Math.floor(Math.log(Math.max(1, epochs)) / Math.log(FACTOR) + 1e-9));
  return Array.from({ length: rungs }, (_, rung) => FACTOR ** (rung + 1 - rungs));
}

/** A trial, and the rung to run it on. */
export interface Step {
  /** From 1. */
  readonly trial: number;
  /** From 0. */
  readonly rung: number;
}

/** The time that is left. */
interface TimeLeft {
  /** Seconds. */
  readonly left: number;
  /** The expected seconds of a run on a rung. */
  readonly cost: (rung: number) => number;
}

/** What to do next, or why the search ends. */
type NextStep = Step | 'no time' | 'no trials';

interface Outcome {
  readonly trial: number;
  readonly figure: number;
}

/** The state of a search: what has run on each rung, and its results. */
export class Halving {
  /** The outcomes on each rung, best first; equal ones in the order of their runs. */
  readonly #rungs: Outcome[][];
  /** Trials that have left each rung. */
  readonly #gone: Set<number>[];
  #mostTrials: number;
  #begun = 0;

  /** @param rungs number of rungs. @param mostTrials maximum number of trials. */
  constructor(rungs: number, mostTrials: number) {
    this.#rungs = Array.from({ length: rungs }, () => []);
    this.#gone = Array.from({ length: rungs }, () => new Set());
    this.#mostTrials = mostTrials;
  }

  get #top(): number {
    return this.#rungs.length - 1;
  }

  /**
   * The next run. None starts unless there is time for a full training. Just before that time runs out, the best waiting
   * trial gets its full training.
   */
  next(time: TimeLeft): NextStep {
    if (time.left < time.cost(this.#top)) return 'no time';
    const step = this.#promotion() ?? this.#newTrial() ?? this.#lastTraining();
    if (step === undefined) return 'no trials';
    if (step.rung === this.#top || time.left - time.cost(step.rung) >= time.cost(this.#top)) return step;
    return this.#bestWaiting() ?? { ...step, rung: this.#top };
  }

  /** Records that a run starts. */
  begin({ trial, rung }: Step): void {
    this.#begun = Math.max(this.#begun, trial);
    for (const gone of this.#gone.slice(0, rung)) gone.add(trial);
  }

  /** Records the metric of a run on dev; higher is better. Not called for failed runs. */
  ended({ trial, rung }: Step, figure: number): void {
    const outcomes = this.#rungs[rung];
    outcomes?.push({ trial, figure });
    outcomes?.sort((a, b) => b.figure - a.figure);
  }

  /** Allows no more new trials. */
  closeToNew(): void {
    this.#mostTrials = this.#begun;
  }

  /** The best trial that may go on from the highest possible rung. */
  #promotion(): Step | undefined {
    for (let rung = this.#top - 1; rung >= 0; rung -= 1) {
      const outcomes = this.#rungs[rung] ?? [];
      const best = outcomes.slice(0, Math.floor(outcomes.length / FACTOR));
      const next = best.find(({ trial }) => !this.#gone[rung]?.has(trial));
      if (next !== undefined) return { trial: next.trial, rung: rung + 1 };
    }
    return undefined;
  }

  #newTrial(): Step | undefined {
    return this.#begun < this.#mostTrials ? { trial: this.#begun + 1, rung: 0 } : undefined;
  }

  /** With few trials, none may be among the best third of a rung; then the best one still gets a full training. */
  #lastTraining(): Step | undefined {
    const [finished = []] = this.#rungs.slice(-1);
    return finished.length === 0 ? this.#bestWaiting() : undefined;
  }

  /** The best waiting trial of the highest possible rung, for a full training. */
  #bestWaiting(): Step | undefined {
    for (let rung = this.#top - 1; rung >= 0; rung -= 1) {
      const next = this.#rungs[rung]?.find(({ trial }) => !this.#gone[rung]?.has(trial));
      if (next !== undefined) return { trial: next.trial, rung: this.#top };
    }
    return undefined;
  }
}
