import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Device, InternalError } from '../contract/index.js';
import type { BatchWork } from './batch-work.js';
import { SharedTokenizers, TextModel } from './text-model.js';
import type { Batch, BatchAnswer, InferenceWorker, Loaded } from './worker.js';

/** A loaded model. It stays in memory while it is used, even if it was forgotten. */
interface LoadedModel {
  readonly model: TextModel;
  uses: number;
  isForgotten: boolean;
}

interface ModelUse {
  readonly model: TextModel;
  /** Loading time in milliseconds; 0 if it was loaded before. */
  readonly loadMs: number;
  done(): void;
}

/** The models that a thread has loaded. Callers decide which are unloaded, and when. */
class ModelCache {
  readonly #models = new Map<string, LoadedModel>();
  readonly #tokenizers = new SharedTokenizers();
  readonly #threads: number;
  readonly #device: Device;
  readonly #released = new Set<Promise<void>>();

  constructor(threads: number, device: Device = 'cpu') {
    this.#threads = threads;
    this.#device = device;
  }

  /** The model of a folder, loaded if necessary. Calls must not overlap. */
  async use(directory: string): Promise<ModelUse> {
    const known = this.#models.get(directory);
    if (known !== undefined) return this.#use(known, 0);
    const startedAt = performance.now();
    const model = await TextModel.load(directory, this.#threads, this.#tokenizers, this.#device);
    const loaded = { model, uses: 0, isForgotten: false };
    this.#models.set(directory, loaded);
    return this.#use(loaded, performance.now() - startedAt);
  }

  /** Unloads a folder's model once it is unused. */
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

export interface WorkerOptions {
  /** Most threads of a run while nothing else runs. */
  readonly threads: number;
  readonly device?: Device;
}

/** Somewhat longer than the target duration of a batch, so that mostly long texts take several slices. */
const SLICE_MS = 40;

interface Unfinished {
  readonly work: BatchWork;
  readonly use: ModelUse;
}

/** Runs models in the calling thread, which each run blocks; one call at a time, in their order. */
export class InlineWorker implements InferenceWorker {
  readonly #models: ModelCache;
  readonly #cancelled = new Map<number, Set<number>>();
  readonly #unfinished = new Map<number, Unfinished>();
  #running: number | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor({ threads, device }: WorkerOptions) {
    this.#models = new ModelCache(threads, device);
  }

  run(batch: Batch): Promise<BatchAnswer> {
    this.#cancelled.set(batch.id, new Set());
    return this.#next(() => this.#begin(batch));
  }

  resume(id: number, alone: boolean): Promise<BatchAnswer> {
    return this.#next(async () => {
      // Due events go first, such as an abort of this batch.
      await nextTurn();
      return this.#advance(id, alone);
    });
  }

  cancel(id: number, positions: readonly number[]): void {
    for (const position of positions) this.#cancelled.get(id)?.add(position);
    if (this.#running !== id && this.#unfinished.get(id)?.work.isCancelled) this.#end(id);
  }

  load(directory: string): Promise<Loaded> {
    return this.#next(async () => {
      const { model, loadMs, done } = await this.#models.use(directory);
      done();
      return { ms: loadMs, bytes: model.bytes, deviceUse: model.deviceUse };
    });
  }

  forget(directory: string): void {
    void this.#next(async () => this.#models.forget(directory));
  }

  /** A thread can't abandon itself. */
  abandon(): void {}

  rest(): void {
    void this.close().catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.#next(() => {
      for (const id of [...this.#unfinished.keys()]) this.#end(id);
      return this.#models.clear();
    });
  }

  async #begin({ id, directory, texts, alone, explain }: Batch): Promise<BatchAnswer> {
    const cancelled = this.#cancelled.get(id) ?? new Set();
    try {
      const use = await this.#models.use(directory);
      this.#unfinished.set(id, { work: use.model.begin(texts, { cancelled, explain }), use });
      const answer = await this.#advance(id, alone);
      const { loadMs, model } = use;
      if (loadMs === 0) return answer;
      return { ...answer, times: { ...answer.times, load: loadMs }, loadedBytes: model.bytes };
    } catch (thrown) {
      this.#end(id);
      throw thrown;
    }
  }

  async #advance(id: number, alone: boolean): Promise<BatchAnswer> {
    const { work, use } = this.#unfinished.get(id) ?? {};
    if (work === undefined || use === undefined)
      throw new InternalError('the rest of this batch is gone: its thread was replaced');
    work.alone = alone;
    let isUnfinished = false;
    this.#running = id;
    try {
      const slice = await work.advance(SLICE_MS);
      isUnfinished = slice.isUnfinished && !work.isCancelled;
      const { deviceUse } = use.model;
      return { ...slice, isUnfinished, times: { load: 0, ...slice.times }, deviceUse };
    } finally {
      this.#running = undefined;
      if (!isUnfinished) this.#end(id);
    }
  }

  #end(id: number): void {
    this.#cancelled.delete(id);
    this.#unfinished.get(id)?.use.done();
    this.#unfinished.delete(id);
  }

  #next<Value>(work: () => Promise<Value>): Promise<Value> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
