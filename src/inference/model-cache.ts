import { LRUCache } from 'lru-cache';
import { SharedTokenizers } from './shared-tokenizers.js';
import { TextModel } from './text-model.js';

/** Loaded models, the least recently used given up once they take too much memory together. */
export class ModelCache {
  readonly #models: LRUCache<string, TextModel>;
  readonly #tokenizers = new SharedTokenizers();
  readonly #threads: number;
  readonly #released: Promise<void>[] = [];
  /** In use, but above the bound by itself. */
  #tooLarge: TextModel | undefined;

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

  /** The model of a folder, loaded if need be; good until `trim`, which is called before the next one is got. */
  async get(directory: string): Promise<TextModel> {
    const known = this.#models.get(directory);
    if (known !== undefined) return known;
    const model = await TextModel.load(directory, this.#threads, this.#tokenizers);
    if (!this.#models.set(directory, model).has(directory)) this.#tooLarge = model;
    return model;
  }

  /** Gives up a model that is above the bound by itself, once it has been used. */
  trim(): void {
    if (this.#tooLarge !== undefined) this.#released.push(this.#tooLarge.release());
    this.#tooLarge = undefined;
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
