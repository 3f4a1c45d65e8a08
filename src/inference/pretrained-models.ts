import { toOrchardError } from '../errors.js';
import type { ModelLoader } from '../model-loader/index.js';
import type { InferenceService, Predictions } from './inference-service.js';

/** Runs models by the names that a loader knows them by. */
export class PretrainedModels {
  /** Where the models lie that were asked for already: a loader may have to ask a server each time. */
  readonly #directories = new Map<string, string>();
  readonly #closing = new AbortController();

  readonly #loader: ModelLoader;
  readonly #inference: InferenceService;

  constructor(loader: ModelLoader, inference: InferenceService) {
    this.#loader = loader;
    this.#inference = inference;
  }

  /**
   * @param signal aborts the loading of the model's files.
   * @throws what the loader does for a model that can't be had
   */
  async predict(name: string, queries: readonly string[], signal?: AbortSignal): Promise<Predictions> {
    return this.#inference.predict(await this.#directoryOf(name, signal), queries);
  }

  /** Gives up the files that are being loaded. */
  close(): void {
    this.#closing.abort();
  }

  async #directoryOf(name: string, signal: AbortSignal | undefined): Promise<string> {
    const known = this.#directories.get(name);
    if (known !== undefined) return known;
    const closing = this.#closing.signal;
    const stop = signal === undefined ? closing : AbortSignal.any([closing, signal]);
    try {
      const { directory } = await this.#loader.load(name, { signal: stop });
      this.#directories.set(name, directory);
      return directory;
    } catch (thrown) {
      throw toOrchardError(thrown, `loading model ${name}`);
    }
  }
}
