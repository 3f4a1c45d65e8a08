import { LRUCache } from 'lru-cache';
import { SharedTokenizers } from './shared-tokenizers.js';
import { TextModel } from './text-model.js';

/** A model that is loaded now. */
export interface CachedModel {
  readonly model: TextModel;
  /** What loading it took just now, in milliseconds; 0 if it was loaded before. */
  readonly loadMs: number;
}

/** Loaded models. The least recently used are unloaded when all of them together take too much memory. */
export class ModelCache {
  readonly #models: LRUCache<string, TextModel>;
  readonly #tokenizers = new SharedTokenizers();
  readonly #threads: number;
  readonly #released: Promise<void>[] = [];
  /** In use, but larger than the bound by itself. */
  #tooLarge: TextModel | undefined;

  /**
   * @param maxBytes bound on the loaded models' files together; a single larger model still works, but is
   *   loaded anew each time.
   */
  constructor(maxBytes: number, threads: number) {
    this.#threads = threads;
    this.#models = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ bytes }) => bytes,
      dispose: (model) => this.#released.push(model.release()),
    });
  }

  /**
   * The model of a folder, loaded if necessary. Valid until `trim`, which must be called before the next
   * `get`.
   */
  async get(directory: string): Promise<CachedModel> {
    const known = this.#models.get(directory);
    if (known !== undefined) return { model: known, loadMs: 0 };
    const startedAt = performance.now();
    const model = await TextModel.load(directory, this.#threads, this.#tokenizers);
    if (!this.#models.set(directory, model).has(directory)) this.#tooLarge = model;
    return { model, loadMs: performance.now() - startedAt };
  }

  /** Unloads a model that is larger than the bound by itself, after its use. */
  trim(): void {
    if (this.#tooLarge !== undefined) this.#released.push(this.#tooLarge.release());
    this.#tooLarge = undefined;
  }

  /** Unloads a folder's model, if it is loaded. */
  forget(directory: string): void {
    this.#models.delete(directory);
  }

  /** Unloads all models and waits until their memory is free. */
  async clear(): Promise<void> {
    this.#models.clear();
    await Promise.all(this.#released.splice(0));
  }
}
