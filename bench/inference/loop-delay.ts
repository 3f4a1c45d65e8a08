import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

const RESOLUTION_MS = 2;

/** How late the timers of this thread are, from its start until it is stopped. */
export class LoopDelay {
  readonly #histogram: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

  private constructor() {
    this.#histogram.enable();
  }

  static async start(): Promise<LoopDelay> {
    const delay = new LoopDelay();
    // An interval counts once its end was seen, and the first one has no beginning.
    await sleep(2 * RESOLUTION_MS);
    return delay;
  }

  /** @returns milliseconds. */
  async stop(): Promise<{ readonly p99: number; readonly max: number }> {
    await sleep(2 * RESOLUTION_MS);
    this.#histogram.disable();
    return { p99: late(this.#histogram.percentile(99)), max: late(this.#histogram.max) };
  }
}

/** The histogram counts whole intervals, in nanoseconds, of which the resolution is no delay. */
function late(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
}
