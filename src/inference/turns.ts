/** Somebody who takes turns with others, by the work that was done for each. */
export interface TurnTaker {
  /** Work so far: who has least is next. */
  served: number;
}

/**
 * Start-time fair queueing (Goyal et al. 1996): who comes after a pause is level with what is being served now, so that
 * idle time earns no turns, and keeps what it was ahead by, so that leaving for a moment earns none either.
 */
export class Turns {
  /** How much its taker had been served when the turn that was given last began. */
  #now = 0;

  /** Somebody has something to do (again). */
  join(taker: TurnTaker): void {
    taker.served = Math.max(taker.served, this.#now);
  }

  serve(taker: TurnTaker, work: number): void {
    this.#now = Math.max(this.#now, taker.served);
    taker.served += work;
  }

  /** Whether forgetting somebody who has nothing to do makes no difference. */
  canForget({ served }: TurnTaker): boolean {
    return served <= this.#now;
  }
}
