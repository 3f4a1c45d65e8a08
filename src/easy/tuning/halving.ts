/**
 * Which trial runs next: asynchronous successive halving (ASHA: Li et al. 2020, "A System for Massively Parallel
 * Hyperparameter Tuning", algorithm 2) with one worker. A rung is a length of training; of the trials that have run on a
 * rung, the best 1 / {@link FACTOR} go on to the next. Nobody has to say beforehand how many trials there will be, so a
 * search may end at any time.
 */

/** Of so many trials, one goes on: η of the paper, with its value. */
export const FACTOR = 3;
/** Most rungs: the lowest trains for a ninth of the epochs. */
const MOST_RUNGS = 3;

/** The shares of a training's epochs that rungs last, lowest first; the last is 1. */
export function rungShares(epochs: number): readonly number[] {
  const rungs = Math.min(MOST_RUNGS, 1 + Math.floor(Math.log(Math.max(1, epochs)) / Math.log(FACTOR) + 1e-9));
  return Array.from({ length: rungs }, (_, rung) => FACTOR ** (rung + 1 - rungs));
}

/** A trial and the rung that it is to run on. */
export interface Step {
  /** From 1. */
  readonly trial: number;
  /** From 0. */
  readonly rung: number;
}

/** What time there is. */
export interface TimeLeft {
  /** Seconds. */
  readonly left: number;
  /** Seconds that a run on a rung is expected to take. */
  readonly cost: (rung: number) => number;
}

/** What to do next, or why there is nothing more to do. */
export type NextStep = Step | 'no time' | 'no trials';

interface Outcome {
  readonly trial: number;
  readonly figure: number;
}

/** The state of a search: what has run on each rung, and how it did. */
export class Halving {
  /** Of each rung, the best first; equal ones in the order of their runs. */
  readonly #rungs: Outcome[][];
  /** Trials that have left each rung. */
  readonly #gone: Set<number>[];
  #mostTrials: number;
  #begun = 0;

  /** @param rungs how many. @param mostTrials that may begin. */
  constructor(rungs: number, mostTrials: number) {
    this.#rungs = Array.from({ length: rungs }, () => []);
    this.#gone = Array.from({ length: rungs }, () => new Set());
    this.#mostTrials = mostTrials;
  }

  get #top(): number {
    return this.#rungs.length - 1;
  }

  /**
   * The next run. None begins unless there is time for a training in full; before the time for one would run out, the
   * best trial that waits has it.
   */
  next(time: TimeLeft): NextStep {
    if (time.left < time.cost(this.#top)) return 'no time';
    const step = this.#promotion() ?? this.#newTrial() ?? this.#lastTraining();
    if (step === undefined) return 'no trials';
    if (step.rung === this.#top || time.left - time.cost(step.rung) >= time.cost(this.#top)) return step;
    return this.#bestWaiting() ?? { ...step, rung: this.#top };
  }

  /** A run is about to begin. */
  begin({ trial, rung }: Step): void {
    this.#begun = Math.max(this.#begun, trial);
    for (const gone of this.#gone.slice(0, rung)) gone.add(trial);
  }

  /** A run has ended with this figure on dev; higher is better. A run that failed has none to tell. */
  ended({ trial, rung }: Step, figure: number): void {
    const outcomes = this.#rungs[rung];
    outcomes?.push({ trial, figure });
    outcomes?.sort((a, b) => b.figure - a.figure);
  }

  /** No trial may begin any more. */
  closeToNew(): void {
    this.#mostTrials = this.#begun;
  }

  /** The best third of the highest rung that has one which hasn't gone on. */
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

  /** With few trials, none may be among the best third of a rung: then the best one is trained in full all the same. */
  #lastTraining(): Step | undefined {
    const [finished = []] = this.#rungs.slice(-1);
    return finished.length === 0 ? this.#bestWaiting() : undefined;
  }

  /** The best trial of the highest rung that has one waiting, to be trained in full. */
  #bestWaiting(): Step | undefined {
    for (let rung = this.#top - 1; rung >= 0; rung -= 1) {
      const next = this.#rungs[rung]?.find(({ trial }) => !this.#gone[rung]?.has(trial));
      if (next !== undefined) return { trial: next.trial, rung: this.#top };
    }
    return undefined;
  }
}
