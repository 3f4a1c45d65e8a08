import type { Device } from '../device-names.js';
import { SharedTokenizers } from './shared-tokenizers.js';
import { TextModel } from './text-model.js';

/** A loaded model. It stays in memory while it is used, even if it was forgotten meanwhile. */
interface LoadedModel {
  readonly model: TextModel;
  uses: number;
  isForgotten: boolean;
}

/** A model that is in use until `done` is called, once. */
export interface ModelUse {
  readonly model: TextModel;
  /** What loading it took just now, in milliseconds; 0 if it was loaded before. */
  readonly loadMs: number;
  done(): void;
}

/** The models that a thread has loaded; which of them leave, and when, is decided by who forgets them. */
export class ModelCache {
  readonly #models = new Map<string, LoadedModel>();
  readonly #tokenizers = new SharedTokenizers();
  readonly #threads: number;
  readonly #device: Device;
  readonly #released = new Set<Promise<void>>();

  /** @param threads and @param device as of {@link TextModel.load}. */
  constructor(threads: number, device: Device = 'cpu') {
    this.#threads = threads;
    this.#device = device;
  }

  /** The model of a folder, loaded if necessary. Not to be called before the call before has answered. */
  async use(directory: string): Promise<ModelUse> {
    const known = this.#models.get(directory);
    if (known !== undefined) return this.#use(known, 0);
    const startedAt = performance.now();
    const model = await TextModel.load(directory, this.#threads, this.#tokenizers, this.#device);
    const loaded = { model, uses: 0, isForgotten: false };
    this.#models.set(directory, loaded);
    return this.#use(loaded, performance.now() - startedAt);
  }

  /** Unloads a folder's model, if it is loaded, once nobody uses it. */
  forget(directory: string): void {
    const loaded = this.#models.get(directory);
    if (loaded === undefined) return;
    this.#models.delete(directory);
    loaded.isForgotten = true;
    this.#releaseIfUnused(loaded);
  }

  /** Unloads all models and waits until their memory is free. */
  async clear(): Promise<void> {
    for (const directory of [...this.#models.keys()]) this.forget(directory);
    await Promise.all(this.#released);
  }

  #use(loaded: LoadedModel, loadMs: number): ModelUse {
    loaded.uses += 1;
    const done = () => {
      loaded.uses -= 1;
      this.#releaseIfUnused(loaded);
    };
    return { model: loaded.model, loadMs, done };
  }

  #releaseIfUnused({ model, uses, isForgotten }: LoadedModel): void {
    if (uses > 0 || !isForgotten) return;
    const released = model.release().finally(() => this.#released.delete(released));
    this.#released.add(released);
  }
}
