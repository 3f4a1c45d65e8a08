import { MemoryLimitError } from '../contract/index.js';
import type { PooledWorker, WorkerModel } from './worker-pool.js';

/** What inference takes of its memory limit, in bytes. */
export interface MemoryStats {
  /** The limit, as `memoryLimit` has it. */
  readonly limit: number;
  /** Loaded models, each as often as it is loaded: estimated by their files. */
  readonly models: number;
  /** Texts that wait and run, with what running them takes: estimated by their length. */
  readonly texts: number;
}

/** Bytes that a model takes once it is loaded; at once where they are known. */
export type ModelSize = (directory: string) => number | Promise<number>;

/** Keeps loaded models and texts within a limit: the least recently used models leave first. */
export class ModelMemory {
  readonly #limit: number;
  readonly #workers: readonly PooledWorker[];
  readonly #sizeOf: ModelSize;
  readonly #textBytes: () => number;
  readonly #sizes = new Map<string, number>();

  /** @param textBytes what texts that wait and run take now. */
  constructor(limit: number, workers: readonly PooledWorker[], sizeOf: ModelSize, textBytes: () => number) {
    this.#limit = limit;
    this.#workers = workers;
    this.#sizeOf = sizeOf;
    this.#textBytes = textBytes;
  }

  get stats(): MemoryStats {
    return { limit: this.#limit, models: this.#modelBytes, texts: this.#textBytes() };
  }

  /** What a model that was measured takes. */
  bytesOf(directory: string): number {
    return this.#sizes.get(directory) ?? 0;
  }

  /**
   * Finds out what a model takes, before it is asked the first time. @returns a promise where that takes time.
   * @throws MemoryLimitError for a model that does not fit, whatever else leaves
   */
  measure(directory: string): undefined | Promise<void> {
    if (this.#sizes.has(directory)) return undefined;
    const size = this.#sizeOf(directory);
    if (typeof size !== 'number') return size.then((bytes) => this.#note(directory, bytes));
    return void this.#note(directory, size);
  }

  /** Whether another copy of a model fits. */
  hasRoomFor(directory: string): boolean {
    return this.#used + this.bytesOf(directory) <= this.#limit;
  }

  /** Whether texts of so many bytes fit, if models that nobody uses leave. */
  couldTake(bytes: number): boolean {
    const inUse = this.#sum((model) => (model.uses > 0 ? model.bytes : 0));
    return this.#textBytes() + inUse + bytes <= this.#limit;
  }

  /** Unloads what was not used for longest until a model fits. @returns whether it does, or nothing else is in its way */
  makeRoomFor(directory: string): boolean {
    while (!this.hasRoomFor(directory)) {
      const oldest = this.#leastRecentlyUsed();
      // Texts that wait for it can't leave before it has come.
      if (oldest === undefined) return this.#modelBytes === 0;
      oldest.worker.forget(oldest.directory);
    }
    return true;
  }

  /** Unloads what was not used for longest until all is within the limit, as far as nobody uses it. */
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
