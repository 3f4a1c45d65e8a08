import { setImmediate as nextTurn } from 'node:timers/promises';
import { err, ok, type Result } from 'neverthrow';
import type { OrchardError } from '../errors.js';
import type { Predictions } from './inference-service.js';
import type { ModelCache } from './model-cache.js';

/** Texts that requests for one model may be joined to; beyond it, runs get no faster and answers later. */
const MAX_JOINED_TEXTS = 64;

interface Request {
  readonly directory: string;
  readonly texts: readonly string[];
  readonly answer: (outcome: Result<Predictions, OrchardError>) => void;
}

/**
 * Answers requests one after the other, first in first out. Those that wait for the same model when its turn
 * comes are joined and answered by the same runs.
 */
export class RequestQueue {
  readonly #waiting: Request[] = [];
  #working: Promise<void> | undefined;

  constructor(private readonly models: ModelCache) {}

  add(directory: string, texts: readonly string[]): Promise<Result<Predictions, OrchardError>> {
    return new Promise((answer) => {
      this.#waiting.push({ directory, texts, answer });
      this.#working ??= this.#work();
    });
  }

  /** Resolves once nothing waits. */
  async idle(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      // A run blocks the thread; a turn of the event loop lets in whatever came meanwhile.
      await nextTurn();
      await this.#answer(this.#take());
    }
    this.#working = undefined;
  }

  /** The first request and those that can join it. */
  #take(): Request[] {
    const [first, ...others] = this.#waiting;
    if (first === undefined) return [];
    const joined = [first];
    let texts = first.texts.length;
    for (const request of others) {
      if (request.directory !== first.directory) continue;
      if (texts + request.texts.length > MAX_JOINED_TEXTS) break;
      joined.push(request);
      texts += request.texts.length;
    }
    for (const request of joined) this.#waiting.splice(this.#waiting.indexOf(request), 1);
    return joined;
  }

  async #answer(requests: readonly Request[]): Promise<void> {
    const [first] = requests;
    if (first === undefined) return;
    const texts = requests.flatMap((request) => request.texts);
    let startedAt = performance.now();
    const outcome = await this.models.use(first.directory, (model) => {
      startedAt = performance.now();
      return model.predict(texts);
    });
    const elapsedMs = performance.now() - startedAt;
    let taken = 0;
    for (const request of requests) {
      const from = taken;
      taken += request.texts.length;
      request.answer(
        outcome.isErr()
          ? err(outcome.error)
          : ok({ results: outcome.value.slice(from, from + request.texts.length), elapsedMs }),
      );
    }
  }
}
