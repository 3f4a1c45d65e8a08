import type { StopReason } from './job-queue.js';

/** Tells the handler of a job to stop, and why: the first reason given counts, though `lost` replaces any other. */
export class JobStop {
  readonly #controller = new AbortController();
  #reason: StopReason | undefined;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Undefined until the signal fires. */
  get reason(): StopReason | undefined {
    return this.#reason;
  }

  give(reason: StopReason): void {
    if (this.#reason === undefined || reason === 'lost') this.#reason = reason;
    this.#controller.abort();
  }
}
