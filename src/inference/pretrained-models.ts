import { toOrchardError } from '../contract/index.js';
import type { ModelLoader } from '../models/index.js';
import type { InferenceService, Predictions, RequestOptions } from './inference-service.js';

/** Runs models by name; a loader finds their files. */
export class PretrainedModels {
  /** Folders of the models used so far: a loader may have to ask a server each time. */
  readonly #directories = new Map<string, string>();
  readonly #closing = new AbortController();

  readonly #loader: ModelLoader;
  readonly #inference: InferenceService;

  constructor(loader: ModelLoader, inference: InferenceService) {
    this.#loader = loader;
    this.#inference = inference;
  }

  async predict(name: string, queries: readonly string[], options: RequestOptions = {}): Promise<Predictions> {
    const directory = this.#directories.get(name) ?? (await this.#load(name, options.signal));
    return this.#inference.predict(directory, queries, options);
  }

  async warm(name: string, signal: AbortSignal | undefined): Promise<void> {
    await this.#inference.warm(this.#directories.get(name) ?? (await this.#load(name, signal)));
  }

  close(): void {
    this.#closing.abort();
  }

  async #load(name: string, signal: AbortSignal | undefined): Promise<string> {
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
