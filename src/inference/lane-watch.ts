import type { LaneState } from './lane-state.js';

/** How often lanes are looked at while any of them works, in milliseconds. */
const TICK_MS = 1000;
/** The longest time that Node's timers take: 24 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** How long a lane may take for one slice of work, in milliseconds. */
export interface Patience {
  readonly runMs: number;
  /** Where a model is to be loaded. */
  readonly loadMs: number;
}

/** Slices are cut at 40 ms, between steps that take a second at most: who takes a minute doesn't come back. */
const PATIENCE: Patience = { runMs: 60_000, loadMs: 300_000 };

/** What happens to lanes, and when. */
export interface WatchOptions {
  /** Called each second while a lane works. */
  readonly tick: () => void;
  /** After so many milliseconds without work, lanes give their memory back. */
  readonly idleMs: number;
  readonly patience?: Patience | undefined;
}

/**
 * Gives up lanes that don't answer, has others take over what waits for them meanwhile, and has lanes rest that nobody
 * has asked for long.
 */
export class LaneWatch {
  readonly #lanes: readonly LaneState[];
  readonly #options: WatchOptions;
  #timer: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(lanes: readonly LaneState[], options: WatchOptions) {
    this.#lanes = lanes;
    this.#options = options;
  }

  /** Something is asked of the lanes. */
  start(): void {
    if (this.#timer !== undefined) return;
    this.stop();
    this.#timer = setInterval(() => this.#look(), TICK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    clearTimeout(this.#idle);
    this.#timer = undefined;
    this.#idle = undefined;
  }

  #wait(): void {
    this.stop();
    const rest = () => {
      for (const lane of this.#lanes) if (!lane.isBusy && lane.unfinished === 0) lane.rest();
    };
    if (this.#options.idleMs <= MAX_TIMER_MS) this.#idle = setTimeout(rest, this.#options.idleMs).unref();
  }

  #look(): void {
    this.#options.tick();
    const busy = this.#lanes.filter(({ isBusy }) => isBusy);
    if (busy.length === 0) this.#wait();
    const now = performance.now();
    for (const { lane, loading, busySince } of busy) {
      const { loadMs, runMs } = this.#options.patience ?? PATIENCE;
      const ms = loading !== undefined ? loadMs : runMs;
      if (now - busySince <= ms) continue;
      const what = loading !== undefined ? 'loading a model' : 'its work';
      lane.abandon(`an inference worker did not end ${what} within ${ms / 1000} s; it is replaced`);
    }
  }
}
