import type { ExplanationChoice } from '../families/index.js';
import type { Flow, Item } from './flow.js';
import type { BatchAnswer, StageTimes } from './lane.js';
import type { LaneState } from './lane-state.js';
import type { PendingRequest } from './pending-request.js';

/** Texts that a lane works on, or will go on with. */
export class RunningBatch {
  /** In its lane; known once the lane was given it. */
  id = -1;
  #times: StageTimes = { load: 0, tokenize: 0, run: 0, decode: 0 };

  constructor(
    readonly lane: LaneState,
    /** Whose turns it takes. */
    readonly flow: Flow,
    readonly items: readonly Item[],
    /** Batches of one round run side by side. */
    public round: number,
  ) {}

  get texts(): string[] {
    return this.items.map(({ request, index }) => request.texts[index] ?? '');
  }

  /** What to explain of each text; undefined if nothing is to be explained. */
  get explain(): (ExplanationChoice | undefined)[] | undefined {
    const choices = this.items.map(({ request }) => request.explain);
    return choices.some((choice) => choice !== undefined) ? choices : undefined;
  }

  get requests(): PendingRequest[] {
    return [...new Set(this.items.map(({ request }) => request))];
  }

  get work(): number {
    return this.items.reduce((sum, item) => sum + item.work, 0);
  }

  /** UTF-16 code units of its texts. */
  get characters(): number {
    return this.items.reduce((sum, { request, index }) => sum + (request.texts[index]?.length ?? 0), 0);
  }

  /** Whether nobody waits for it any more. */
  get isGivenUp(): boolean {
    return this.items.every(({ request }) => request.ended);
  }

  /** What all slices took, this one included. */
  add({ times }: BatchAnswer): StageTimes {
    const { load, tokenize, run, decode } = this.#times;
    this.#times = {
      load: load + times.load,
      tokenize: tokenize + times.tokenize,
      run: run + times.run,
      decode: decode + times.decode,
    };
    return this.#times;
  }
}
