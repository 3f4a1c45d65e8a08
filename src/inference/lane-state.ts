import type { DeviceUse } from './device-graph.js';
import type { Batch, BatchAnswer, Lane, Loaded } from './lane.js';

/** A model that a lane has loaded, or is asked to load. */
export interface LaneModel {
  /** Approximate memory, in bytes: estimated by its files until it is loaded. */
  bytes: number;
  /** By `performance.now`. */
  usedAt: number;
  /** Batches of it that run or are unfinished. */
  uses: number;
  /** Where it computed last. */
  deviceUse?: DeviceUse | undefined;
}

/** A lane, what it works on, and the models that it was asked for. */
export class LaneState {
  readonly models = new Map<string, LaneModel>();
  /** Texts that it works on. */
  running = 0;
  /** The model that it was asked to load, and has not yet. */
  loading: string | undefined;
  /** When it was given what it works on, by `performance.now`. */
  busySince = 0;
  #asked = 0;
  #lastId = 0;

  constructor(readonly lane: Lane) {
    lane.onLost = () => this.models.clear();
  }

  get isBusy(): boolean {
    return this.#asked > 0;
  }

  /** Batches that it has begun with and not finished. */
  get unfinished(): number {
    let uses = 0;
    for (const model of this.models.values()) uses += model.uses;
    return uses;
  }

  /** Loads a model; while it does so, it is busy. @param bytes that the model is thought to take. */
  async load(directory: string, bytes: number): Promise<Loaded> {
    const isNew = !this.models.has(directory);
    const model = this.#modelOf(directory, bytes);
    try {
      const loaded = await this.#ask(() => this.lane.load(directory));
      model.bytes = loaded.bytes || model.bytes;
      model.deviceUse = loaded.deviceUse;
      return loaded;
    } catch (thrown) {
      if (isNew) this.forget(directory);
      throw thrown;
    }
  }

  /**
   * Begins a batch.
   * @param bytes that its model is thought to take. @param started is told the batch's id before the lane answers.
   */
  async run(batch: Omit<Batch, 'id'>, bytes: number, started: (id: number) => void): Promise<BatchAnswer> {
    this.#lastId += 1;
    const id = this.#lastId;
    const { directory, texts } = batch;
    const isNew = !this.models.has(directory);
    const model = this.#modelOf(directory, bytes);
    model.uses += 1;
    started(id);
    try {
      const answer = await this.#ask(() => this.lane.run({ id, ...batch }), texts.length);
      if (answer.loadedBytes !== undefined) model.bytes = answer.loadedBytes;
      model.deviceUse = answer.deviceUse;
      if (!answer.isUnfinished) model.uses -= 1;
      return answer;
    } catch (thrown) {
      model.uses -= 1;
      // It may not be loaded either; asking for it again finds out.
      if (isNew) this.forget(directory);
      throw thrown;
    }
  }

  /** Goes on with a batch. */
  async resume(id: number, alone: boolean, directory: string, texts: number): Promise<BatchAnswer> {
    const model = this.models.get(directory);
    let isUnfinished = false;
    try {
      const answer = await this.#ask(() => this.lane.resume(id, alone), texts);
      isUnfinished = answer.isUnfinished;
      if (model !== undefined) model.deviceUse = answer.deviceUse;
      return answer;
    } finally {
      if (model !== undefined && !isUnfinished) model.uses = Math.max(0, model.uses - 1);
    }
  }

  /** A batch that is unfinished needn't be gone on with. */
  drop(id: number, directory: string, positions: readonly number[]): void {
    const model = this.models.get(directory);
    if (model !== undefined) model.uses = Math.max(0, model.uses - 1);
    this.lane.cancel(id, positions);
  }

  /** Unloads a model, when its unfinished batches are done. */
  forget(directory: string): void {
    this.models.delete(directory);
    this.lane.forget(directory);
  }

  /** Gives back the memory of a lane that has nothing to do. */
  rest(): void {
    this.models.clear();
    this.lane.rest();
  }

  #modelOf(directory: string, bytes: number): LaneModel {
    const known = this.models.get(directory);
    const model = known ?? { bytes, usedAt: 0, uses: 0 };
    model.usedAt = performance.now();
    if (known === undefined) this.models.set(directory, model);
    if (known === undefined) this.loading = directory;
    return model;
  }

  async #ask<Answer>(work: () => Promise<Answer>, texts = 0): Promise<Answer> {
    this.#asked += 1;
    this.running += texts;
    this.busySince = performance.now();
    try {
      return await work();
    } finally {
      this.#asked -= 1;
      this.running -= texts;
      this.loading = undefined;
      this.busySince = performance.now();
    }
  }
}
