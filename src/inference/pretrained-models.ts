import { ResultAsync } from 'neverthrow';
import { type OrchardError, toOrchardError } from '../errors.js';
import type { ModelLoader } from '../model-loader/index.js';
import type { InferenceService, Predictions } from './inference-service.js';

/** Runs models by the names that a loader knows them by. */
export class PretrainedModels {
  /** Where the models lie that were asked for already: a loader may have to ask a server each time. */
  readonly #directories = new Map<string, string>();
  readonly #closing = new AbortController();

  constructor(
    private readonly loader: ModelLoader,
    private readonly inference: InferenceService,
  ) {}

  /** Fails as the loader does for a model that can't be had. The signal aborts the loading of its files. */
  predict(
    name: string,
    queries: readonly string[],
    signal?: AbortSignal,
  ): ResultAsync<Predictions, OrchardError> {
    return ResultAsync.fromPromise(this.#directory(name, signal), (thrown) =>
      toOrchardError(thrown, `loading model ${name}`),
    ).andThen((directory) => this.inference.predict(directory, queries));
  }

  /** Gives up the files that are being loaded, waits for what runs and frees everything. Idempotent. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.inference.close();
  }

  async #directory(name: string, signal: AbortSignal | undefined): Promise<string> {
    const known = this.#directories.get(name);
    if (known !== undefined) return known;
    const stop =
      signal === undefined ? this.#closing.signal : AbortSignal.any([this.#closing.signal, signal]);
    const { directory } = await this.loader.load(name, { signal: stop });
    this.#directories.set(name, directory);
    return directory;
  }
}
