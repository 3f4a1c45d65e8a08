import { setImmediate as nextTurn } from 'node:timers/promises';
import { ClosedError } from '../errors.js';
import type { InferenceService, Predictions } from './inference-service.js';
import { ModelCache } from './model-cache.js';

/** Most texts of requests that are joined; with more, runs get no faster and answers come later. */
const MAX_JOINED_TEXTS = 64;

export interface InferenceOptions {
  /** Bound on the loaded models' files together, in bytes. */
  readonly maxModelBytes: number;
  /** Threads that one run may use. */
  readonly threads: number;
}

/** Runs models in the calling thread, which each run blocks. */
export function inlineInference({ maxModelBytes, threads }: InferenceOptions): InferenceService {
  return new InlineService(new ModelCache(maxModelBytes, threads));
}

interface Request {
  readonly directory: string;
  readonly texts: readonly string[];
  readonly resolve: (predictions: Predictions) => void;
  readonly reject: (thrown: unknown) => void;
}

/**
 * Answers requests one after the other, first in, first out. When a request's turn comes, those that wait for
 * the same model are joined with it and answered by the same runs.
 */
class InlineService implements InferenceService {
  #waiting: Request[] = [];
  #working: Promise<void> | undefined;
  #closed = false;

  readonly #models: ModelCache;

  constructor(models: ModelCache) {
    this.#models = models;
  }

  async predict(directory: string, texts: readonly string[]): Promise<Predictions> {
    if (this.#closed) throw new ClosedError('inference service');
    return new Promise((resolve, reject) => {
      this.#waiting.push({ directory, texts, resolve, reject });
      this.#working ??= this.#work();
    });
  }

  forget(directory: string): void {
    this.#models.forget(directory);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#working;
    await this.#models.clear();
  }

  async #work(): Promise<void> {
    for (let [first] = this.#waiting; first !== undefined; [first] = this.#waiting) {
      // A run blocks the thread; a turn of the event loop lets in requests that came meanwhile.
      await nextTurn();
      const requests = this.#take(first.directory);
      try {
        const model = await this.#models.get(first.directory);
        const startedAt = performance.now();
        const results = await model.predict(requests.flatMap(({ texts }) => texts));
        const elapsedMs = performance.now() - startedAt;
        for (const { texts, resolve } of requests) {
          resolve({ results: results.splice(0, texts.length), elapsedMs });
        }
      } catch (thrown) {
        for (const { reject } of requests) reject(thrown);
      }
      this.#models.trim();
    }
    this.#working = undefined;
  }

  /** Takes the first request for a model and those that can join it. */
  #take(directory: string): Request[] {
    const joined: Request[] = [];
    let texts = 0;
    for (const request of this.#waiting.filter((each) => each.directory === directory)) {
      texts += request.texts.length;
      if (joined.length > 0 && texts > MAX_JOINED_TEXTS) break;
      joined.push(request);
    }
    this.#waiting = this.#waiting.filter((request) => !joined.includes(request));
    return joined;
  }
}
