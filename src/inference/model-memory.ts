import { MemoryLimitError } from '../contract/index.js';
import type { PooledWorker, WorkerModel } from './worker-pool.js';

/** Memory of an inference service, in bytes. */
export interface MemoryStats {
  /** The option `memoryLimit`. */
  readonly limit: number;
  /** Loaded models, counted once per thread; estimated from their files. */
  readonly models: number;
  /** Waiting and running texts with their tokens and outputs; estimated from their lengths. */
  readonly texts: number;
}

/** Estimates a loaded model's bytes. */
export type ModelSize = (directory: string) => number | Promise<number>;

/** Keeps loaded models and texts within a limit: the least recently used models are unloaded first. */
export class ModelMemory {
  readonly #limit: number;
  readonly #workers: readonly PooledWorker[];
  readonly #sizeOf: ModelSize;
  readonly #textBytes: () => number;
  readonly #sizes = new Map<string, number>();

  constructor(limit: number, workers: readonly PooledWorker[], sizeOf: ModelSize, textBytes: () => number) {
    this.#limit = limit;
    this.#workers = workers;
    this.#sizeOf = sizeOf;
    this.#textBytes = textBytes;
  }

  get stats(): MemoryStats {
    return { limit: this.#limit, models: this.#modelBytes, texts: this.#textBytes() };
  }

  bytesOf(directory: string): number {
    return this.#sizes.get(directory) ?? 0;
  }

  /**
   * Estimates a model before its first request. @returns a promise if that takes time.
   * @throws MemoryLimitError for a model that is larger than the limit
   */
  measure(directory: string): undefined | Promise<void> {
    if (this.#sizes.has(directory)) return undefined;
    const size = this.#sizeOf(directory);
    if (typeof size !== 'number') return size.then((bytes) => this.#note(directory, bytes));
    return void this.#note(directory, size);
  }

  hasRoomFor(directory: string): boolean {
    return this.#used + this.bytesOf(directory) <= this.#limit;
  }

  /** Whether texts of this size fit, once all unused models are unloaded. */
  couldTake(bytes: number): boolean {
    const inUse = this.#sum((model) => (model.uses > 0 ? model.bytes : 0));
    return this.#textBytes() + inUse + bytes <= this.#limit;
  }

  /** Unloads least recently used models until a model fits. @returns whether it fits, or no other model is loaded */
  makeRoomFor(directory: string): boolean {
    while (!this.hasRoomFor(directory)) {
      const oldest = this.#leastRecentlyUsed();
      // Texts that wait for the model can't be freed before it runs.
      if (oldest === undefined) return this.#modelBytes === 0;
      oldest.worker.forget(oldest.directory);
    }
    return true;
  }

  /** Unloads least recently used models until the limit is kept or all others are in use. */
  trim(): void {
    while (this.#used > this.#limit) {
      const oldest = this.#leastRecentlyUsed();
      if (oldest === undefined) return;
      oldest.worker.forget(oldest.directory);
    }
  }

  forget(directory: string): void {
    this.#sizes.delete(directory);
  }

  get #used(): number {
    return this.#modelBytes + this.#textBytes();
  }

  get #modelBytes(): number {
    return this.#sum(({ bytes }) => bytes);
  }

  #sum(bytesOf: (model: WorkerModel) => number): number {
    let sum = 0;
    for (const { models } of this.#workers) for (const model of models.values()) sum += bytesOf(model);
    return sum;
  }

  #note(directory: string, bytes: number): void {
    if (bytes > this.#limit) throw new MemoryLimitError(`the model in ${directory}`, bytes, this.#limit);
    this.#sizes.set(directory, bytes);
  }

  #leastRecentlyUsed(): { readonly worker: PooledWorker; readonly directory: string } | undefined {
    let oldest: { worker: PooledWorker; directory: string; usedAt: number } | undefined;
    for (const worker of this.#workers) {
      for (const [directory, { uses, usedAt }] of worker.models) {
        if (uses === 0 && (oldest === undefined || usedAt < oldest.usedAt)) oldest = { worker, directory, usedAt };
      }
    }
    return oldest;
  }
}
