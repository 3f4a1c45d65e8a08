import type { LaneState } from './lane-state.js';

/** How often lanes are looked at while any of them works, in milliseconds. */
const TICK_MS = 1000;

/** How long a lane may take for one slice of work, in milliseconds. */
export interface Patience {
  readonly runMs: number;
  /** Where a model is to be loaded. */
  readonly loadMs: number;
}

/** Slices are cut at 40 ms, between steps that take a second at most: who takes a minute doesn't come back. */
const PATIENCE: Patience = { runMs: 60_000, loadMs: 300_000 };

/** Gives up lanes that don't answer, and has others take over what waits for them meanwhile. */
export class LaneWatch {
  readonly #lanes: readonly LaneState[];
  readonly #tick: () => void;
  readonly #patience: Patience;
  #timer: NodeJS.Timeout | undefined;

  /** @param tick called each second while a lane works. */
  constructor(lanes: readonly LaneState[], tick: () => void, patience: Patience = PATIENCE) {
    this.#lanes = lanes;
    this.#tick = tick;
    this.#patience = patience;
  }

  /** Something was given to a lane. */
  start(): void {
    this.#timer ??= setInterval(() => this.#look(), TICK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    const busy = this.#lanes.filter(({ isBusy }) => isBusy);
    if (busy.length === 0) this.stop();
    const now = performance.now();
    for (const { lane, loading, busySince } of busy) {
      const ms = loading !== undefined ? this.#patience.loadMs : this.#patience.runMs;
      if (now - busySince <= ms) continue;
      const what = loading !== undefined ? 'loading a model' : 'its work';
      lane.abandon(`an inference worker did not end ${what} within ${ms / 1000} s; it is replaced`);
    }
    this.#tick();
  }
}
