import type { Batch, BatchAnswer, Lane } from './lane.js';
import { ModelCache } from './model-cache.js';

export interface LaneOptions {
  /** Bound on the loaded models' files together, in bytes. */
  readonly maxModelBytes: number;
  /** Most threads of a run that has the machine for itself. */
  readonly threads: number;
}

/** Runs models in the calling thread, which each run blocks. One thing at a time, in the order of the calls. */
export class InlineLane implements Lane {
  readonly #models: ModelCache;
  readonly #cancelled = new Map<number, Set<number>>();
  #last: Promise<unknown> = Promise.resolve();

  constructor({ maxModelBytes, threads }: LaneOptions) {
    this.#models = new ModelCache(maxModelBytes, threads);
  }

  run(batch: Batch): Promise<BatchAnswer> {
    const cancelled = new Set<number>();
    this.#cancelled.set(batch.id, cancelled);
    return this.#next(() => this.#answer(batch, cancelled)).finally(() => this.#cancelled.delete(batch.id));
  }

  cancel(id: number, positions: readonly number[]): void {
    for (const position of positions) this.#cancelled.get(id)?.add(position);
  }

  load(directory: string): Promise<number> {
    return this.#next(async () => {
      const { loadMs } = await this.#models.get(directory);
      this.#models.trim();
      return loadMs;
    });
  }

  forget(directory: string): void {
    this.#models.forget(directory);
  }

  async close(): Promise<void> {
    await this.#next(() => this.#models.clear());
  }

  async #answer({ directory, texts, alone }: Batch, cancelled: ReadonlySet<number>): Promise<BatchAnswer> {
    try {
      const { model, loadMs } = await this.#models.get(directory);
      const { times, ...answer } = await model.predict(texts, { alone, cancelled });
      return { ...answer, times: { load: loadMs, ...times } };
    } finally {
      this.#models.trim();
    }
  }

  #next<Value>(work: () => Promise<Value>): Promise<Value> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
