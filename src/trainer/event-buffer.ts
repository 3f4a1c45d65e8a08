import { keepingAlive } from './keep-alive.js';
import type { TrainingEvent } from './training-event.js';

/**
 * Events on their way to one reader. It never holds more than the states of a job and one event of each other
 * kind, however slow the reader: newer progress replaces older, as do figures, which cover all epochs so far;
 * warnings are joined.
 */
export class EventBuffer {
  #pending: TrainingEvent[] = [];
  #failure: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  push(event: TrainingEvent): void {
    if (this.#failure) return;
    const earlier = this.#pending.find((pending) => isSameKind(pending, event));
    this.#pending = this.#pending.filter((pending) => pending !== earlier);
    this.#pending.push(earlier === undefined ? event : joined(earlier, event));
    this.#wake?.();
  }

  /** Makes `next` reject once what is pending has been read. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#wake?.();
  }

  /** Makes `next` reject at once. */
  abort(error: unknown): void {
    this.#pending = [];
    this.fail(error);
  }

  /** The oldest event, as soon as there is one; waiting for it keeps the process alive. One reader at a time. */
  async next(): Promise<TrainingEvent> {
    for (;;) {
      const event = this.#pending.shift();
      if (event) return event;
      if (this.#failure) throw this.#failure.error;
      const news = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      await keepingAlive(news);
    }
  }
}

function isSameKind(a: TrainingEvent, b: TrainingEvent): boolean {
  return a.type === 'state' && b.type === 'state' ? a.status === b.status : a.type === b.type;
}

function joined(earlier: TrainingEvent, later: TrainingEvent): TrainingEvent {
  if (earlier.type !== 'warnings' || later.type !== 'warnings') return later;
  return { ...later, warnings: [...earlier.warnings, ...later.warnings] };
}
