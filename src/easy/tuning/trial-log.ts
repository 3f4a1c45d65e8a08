import type { TrialSettings } from './space.js';
import type { Trial } from './trial.js';

/** The trials of a search, in their order, and whoever listens to what becomes of them. */
export class TrialLog {
  readonly #trials: Trial[] = [];
  readonly #listener: ((trial: Trial) => void) | undefined;

  /** @param listener is called with each change of a trial; what it throws ends the search. */
  constructor(listener: ((trial: Trial) => void) | undefined) {
    this.#listener = listener;
  }

  /** A trial that has not run yet. */
  add(settings: TrialSettings): Trial {
    const trial: Trial = { number: this.#trials.length, settings, status: 'waiting', runs: [], seconds: 0 };
    this.#trials.push(trial);
    return trial;
  }

  /** @returns undefined where there is none of that number yet */
  at(number: number): Trial | undefined {
    return this.#trials[number];
  }

  changed(before: Trial, change: Partial<Trial>): void {
    const trial = { ...before, ...change };
    this.#trials[before.number] = trial;
    this.#listener?.(trial);
  }

  /** All, once nothing runs any more: those that wait have been too weak to go on. */
  ended(): readonly Trial[] {
    return this.#trials.map(
      (each): Trial => (each.status === 'waiting' ? { ...each, status: 'weak' } : each),
    );
  }
}
