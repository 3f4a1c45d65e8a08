import type { Clock } from './clock.js';

/** A storage that fails for this long is told to those who wait for what it holds up. */
export const LASTING_MS = 30_000;

/** What fails again and again in the background, where nobody is told of a failure that passes. */
export class LastingTrouble {
  readonly #clock: Clock;
  readonly #tell: (error: unknown) => void;
  /** Since when each task has failed, by {@link Clock.elapsed}. */
  readonly #since = new Map<string, number>();

  /** @param tell is called with each failure of a task that has failed for {@link LASTING_MS} and longer. */
  constructor(clock: Clock, tell: (error: unknown) => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  succeeded(task: string): void {
    this.#since.delete(task);
  }

  failed(task: string, error: unknown): void {
    const now = this.#clock.elapsed();
    const since = this.#since.get(task) ?? now;
    this.#since.set(task, since);
    if (now - since >= LASTING_MS) this.#tell(error);
  }
}
