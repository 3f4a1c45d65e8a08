import { LRUCache } from 'lru-cache';
import type { ResultAsync } from 'neverthrow';
import type { OrchardError } from '../errors.js';
import { SharedTokenizers } from './shared-tokenizers.js';
import { TextModel } from './text-model.js';

/** Loaded models, the least recently used given up once they take too much memory together. */
export class ModelCache {
  readonly #models: LRUCache<string, TextModel>;
  readonly #tokenizers = new SharedTokenizers();
  readonly #threads: number;
  readonly #released: Promise<void>[] = [];

  /**
   * @param maxBytes bound on the loaded models' graph files together; a single larger model is used all the same,
   *   and loaded anew each time.
   */
  constructor(maxBytes: number, threads: number) {
    this.#threads = threads;
    this.#models = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ bytes }) => bytes,
      dispose: (model) => this.#released.push(model.release()),
    });
  }

  /** Lets a task use the model of a folder, which is loaded if need be. Call it for one task after the other. */
  use<Value>(
    directory: string,
    task: (model: TextModel) => ResultAsync<Value, OrchardError>,
  ): ResultAsync<Value, OrchardError> {
    const known = this.#models.get(directory);
    if (known !== undefined) return task(known);
    return TextModel.load(directory, this.#threads, this.#tokenizers).andThen((model) => {
      this.#models.set(directory, model);
      const done = task(model);
      // A model above the bound by itself is never kept.
      if (!this.#models.has(directory)) done.then(() => this.#released.push(model.release()));
      return done;
    });
  }

  /** Gives a folder's model up, if it is loaded. */
  forget(directory: string): void {
    this.#models.delete(directory);
  }

  /** Gives all up and waits until their memory is free. */
  async clear(): Promise<void> {
    this.#models.clear();
    await Promise.all(this.#released.splice(0));
  }
}
