import type { DeviceUse } from './device-graph.js';
import type { ModelMemory } from './model-memory.js';
import type { Batch, BatchAnswer, Lane, Loaded, StageTimes } from './worker.js';

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

/** Weight of the newest batch in what a model is thought to take. */
const NEWEST = 0.2;
/** What loading a model is thought to take before it was seen, in milliseconds. */
const LOAD_MS = 100;

/** Lost time counts half after so many milliseconds: only what is lost all the time is worth another copy. */
const FORGETTING_MS = 3000;

/** What is known of a model by running it. */
class ModelFigures {
  loadMs = LOAD_MS;
  texts = 0;
  textMs = 0;
  /** Milliseconds a unit of work, lately; 0 before the first batch. */
  workMs = 0;
  #lostMs = 0;
  #lostAt = 0;

  /** Milliseconds for which idle lanes were of no use lately since they have not loaded the model. */
  get lostMs(): number {
    return this.#lostMs * 2 ** ((this.#lostAt - performance.now()) / FORGETTING_MS);
  }

  lose(ms: number): void {
    this.#lostMs = this.lostMs + ms;
    this.#lostAt = performance.now();
  }

  forgive(): void {
    this.#lostMs = 0;
  }

  add(times: StageTimes, texts: number, work: number): void {
    const elapsedMs = times.tokenize + times.run + times.decode;
    if (times.load > 0) this.loadMs = times.load;
    const mean = (known: number, seen: number) => (known === 0 ? seen : known + NEWEST * (seen - known));
    this.workMs = mean(this.workMs, elapsedMs / work);
    this.textMs = mean(this.textMs, elapsedMs / texts);
    this.texts += texts;
  }
}

/** After so many milliseconds in which the lanes that have a model did not answer, another one loads it. */
const HELD_UP_MS = 1000;

/**
 * Which lanes run which model. A model stays on the lane that has loaded it, so that every model needs its memory
 * once; it is loaded by another one only when the time lost by waiting comes to what loading takes, as with renting
 * skis before buying them.
 */
export class LanePool {
  readonly lanes: readonly LaneState[];
  readonly #memory: ModelMemory;
  readonly #figures = new Map<string, ModelFigures>();

  constructor(lanes: readonly LaneState[], memory: ModelMemory) {
    this.lanes = lanes;
    this.#memory = memory;
  }

  get idle(): LaneState[] {
    return this.lanes.filter(({ isBusy }) => !isBusy);
  }

  figuresOf(directory: string): ModelFigures {
    const known = this.#figures.get(directory);
    if (known !== undefined) return known;
    const figures = new ModelFigures();
    this.#figures.set(directory, figures);
    return figures;
  }

  get figures(): ReadonlyMap<string, ModelFigures> {
    return this.#figures;
  }

  /** Lanes that have a model. */
  homes(directory: string): LaneState[] {
    return this.lanes.filter(({ models }) => models.has(directory));
  }

  /**
   * The idle lanes that should run a model now; none if it should wait for a busy lane that has it, or for memory. There
   * is room for it then.
   */
  lanesFor(directory: string): LaneState[] {
    const homes = this.homes(directory);
    const idle = homes.filter(({ isBusy }) => !isBusy);
    if (idle.length > 0) return idle;
    const longAgo = performance.now() - HELD_UP_MS;
    const isSoonIdle = ({ busySince, loading }: LaneState) => busySince > longAgo || loading === directory;
    if (homes.some(isSoonIdle)) return [];
    const first = leastModels(this.idle);
    return first !== undefined && this.#memory.makeRoomFor(directory) ? [first] : [];
  }

  /** The idle lane that should load a model which others have, if one should; the time lost is then forgiven. */
  spreadTo(directory: string): LaneState | undefined {
    const figures = this.figuresOf(directory);
    if (figures.lostMs < figures.loadMs) return undefined;
    const lane = leastModels(this.idle.filter(({ models }) => !models.has(directory)));
    if (lane === undefined || !this.#memory.hasRoomFor(directory)) return undefined;
    figures.forgive();
    return lane;
  }

  /** The lane to load a model in that nobody waits for yet. */
  homeOf(directory: string): LaneState | undefined {
    return this.lanes.find(({ models }) => models.has(directory)) ?? leastModels(this.lanes);
  }

  forget(directory: string): void {
    this.#figures.delete(directory);
    this.#memory.forget(directory);
    for (const lane of this.lanes) lane.forget(directory);
  }
}

function leastModels(lanes: readonly LaneState[]): LaneState | undefined {
  const [first] = lanes;
  if (first === undefined) return undefined;
  return lanes.reduce((least, lane) => (lane.models.size < least.models.size ? lane : least), first);
}
