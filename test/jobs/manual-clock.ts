import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../src/jobs/clock.js';

interface Repetition {
  readonly intervalMs: number;
  readonly work: () => Promise<void>;
  next: number;
}

/** A clock that stands still until it is advanced. */
export class ManualClock implements Clock {
  readonly #repetitions = new Set<Repetition>();

  /** How far the time of day was set ahead. */
  #setAheadMs = 0;

  constructor(private time = Date.UTC(2026, 10, 20, 8, 15, 30, 123)) {}

  now(): number {
    return this.time + this.#setAheadMs;
  }

  elapsed(): number {
    return this.time;
  }

  /** Sets the time of day, ahead or back, while no time passes. */
  set(aheadMs: number): void {
    this.#setAheadMs += aheadMs;
  }

  every(intervalMs: number, work: () => Promise<void>): () => void {
    const repetition = { intervalMs, work, next: this.time + intervalMs };
    this.#repetitions.add(repetition);
    return () => this.#repetitions.delete(repetition);
  }

  /** Passes time without doing what is due: what a suspended process sees. */
  jump(milliseconds: number): void {
    this.time += milliseconds;
  }

  /** Passes time and does what is due, once where it is due several times. */
  async advance(milliseconds: number): Promise<void> {
    this.time += milliseconds;
    for (const repetition of this.#repetitions) {
      if (repetition.next > this.time) continue;
      repetition.next = this.time + repetition.intervalMs;
      await repetition.work();
    }
    await nextTurn(); // what was set off in the background gets going
  }
}
