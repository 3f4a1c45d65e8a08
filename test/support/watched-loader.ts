import type { LoadedModel, LoadOptions, ModelLoader } from '../../src/models/index.js';

/** A loader that remembers what it was asked, and may keep its askers waiting. */
export class WatchedLoader implements ModelLoader {
  readonly specificationVersion = 1;
  readonly asked: string[] = [];
  readonly signals: (AbortSignal | undefined)[] = [];

  /** @param waiting what a call waits for before `loader` is asked. */
  constructor(
    private readonly loader: ModelLoader,
    private readonly waiting: (name: string) => Promise<void> = async () => undefined,
  ) {}

  async load(name: string, options?: LoadOptions): Promise<LoadedModel> {
    this.asked.push(name);
    this.signals.push(options?.signal);
    await this.waiting(name);
    return this.loader.load(name, options);
  }
}
