/** Aborts what has made no progress for a while. */
export class StallWatch {
  /** Fires on a stall, and when the caller's own signal fires. */
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;

  constructor(timeoutMs: number, stop: AbortSignal | undefined) {
    this.signal = stop ? AbortSignal.any([stop, this.#controller.signal]) : this.#controller.signal;
    this.#timer = setTimeout(() => this.#controller.abort(), timeoutMs);
  }

  get hasStalled(): boolean {
    return this.#controller.signal.aborted;
  }

  progressed(): void {
    this.#timer.refresh();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
