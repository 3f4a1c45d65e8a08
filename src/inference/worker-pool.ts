import { MemoryLimitError } from '../contract/index.js';
import type { DeviceUse } from '../graph/index.js';
import { warnOnce } from '../system/index.js';
import type { Batch, BatchAnswer, InferenceWorker, Loaded, RuntimeUse } from './worker.js';

interface WorkerModel {
  /** Approximate memory in bytes; estimated from its files until it is loaded. */
  bytes: number;
  /** By `performance.now`. */
  usedAt: number;
  /** Its batches that run or are unfinished. */
  uses: number;
  deviceUse?: DeviceUse | undefined;
  /** Undefined until it is loaded. */
  runtimeUse?: RuntimeUse | undefined;
}

/** A worker, its current work, and the models that it was asked for. */
export class PooledWorker {
  readonly models = new Map<string, WorkerModel>();
  loading: string | undefined;
  /** When its current work began, by `performance.now`. */
  busySince = 0;
  #asked = 0;
  #lastId = 0;

  constructor(readonly thread: InferenceWorker) {
    thread.onLost = () => this.models.clear();
  }

  get isBusy(): boolean {
    return this.#asked > 0;
  }

  get unfinished(): number {
    let uses = 0;
    for (const model of this.models.values()) uses += model.uses;
    return uses;
  }

  /** Whether a model is here and not just being loaded. */
  has(directory: string): boolean {
    return this.models.has(directory) && this.loading !== directory;
  }

  load(directory: string, bytes: number, version?: string): Promise<Loaded> {
    return this.#ask(directory, this.#modelOf(directory, bytes), async (model) => {
      const loaded = await this.thread.load(directory, version);
      model.bytes = loaded.bytes || model.bytes;
      model.deviceUse = loaded.deviceUse;
      noteRuntime(model, loaded);
      return loaded;
    });
  }

  /** An id for a batch. */
  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  /** @param bytes estimated memory of its model. */
  run(batch: Batch, bytes: number): Promise<BatchAnswer> {
    const model = this.#modelOf(batch.directory, bytes);
    return this.#ask(batch.directory, model, () => answerOf(model, this.thread.run(batch)));
  }

  resume(id: number, alone: boolean, directory: string): Promise<BatchAnswer> {
    const model = this.models.get(directory) ?? { bytes: 0, usedAt: 0, uses: 1 };
    model.uses = Math.max(0, model.uses - 1);
    return this.#ask(directory, model, () => answerOf(model, this.thread.resume(id, alone)));
  }

  drop(id: number, directory: string, positions: readonly number[]): void {
    const model = this.models.get(directory);
    if (model !== undefined) model.uses = Math.max(0, model.uses - 1);
    this.thread.cancel(id, positions);
  }

  /** Unloads a model once its unfinished batches are done. */
  forget(directory: string): void {
    this.models.delete(directory);
    this.thread.forget(directory);
  }

  rest(): void {
    this.models.clear();
    this.thread.rest();
  }

  #modelOf(directory: string, bytes: number): WorkerModel {
    const known = this.models.get(directory);
    if (known !== undefined) return known;
    const model = { bytes, usedAt: 0, uses: 0 };
    this.models.set(directory, model);
    this.loading = directory;
    return model;
  }

  async #ask<Answer>(
    directory: string,
    model: WorkerModel,
    work: (model: WorkerModel) => Promise<Answer>,
  ): Promise<Answer> {
    const isNew = this.loading === directory;
    this.#asked += 1;
    this.busySince = performance.now();
    model.usedAt = this.busySince;
    try {
      return await work(model);
    } catch (thrown) {
      // It may not be loaded; the next request finds out.
      if (isNew) this.forget(directory);
      throw thrown;
    } finally {
      this.#asked -= 1;
      this.loading = undefined;
      this.busySince = performance.now();
    }
  }
}

/** Warns the first time that WebAssembly computes because ONNX Runtime is missing. */
function noteRuntime(model: WorkerModel, { runtimeUse }: Pick<Loaded, 'runtimeUse'>): void {
  if (runtimeUse === undefined) return;
  model.runtimeUse = runtimeUse;
  if (runtimeUse.failure === undefined) return;
  const told =
    "ONNX Runtime can't be loaded, so models run in WebAssembly, which takes up to 2.5 times as long per text";
  warnOnce(
    `${told}. ${runtimeUse.failure}. To use WebAssembly without this warning, set the runtime to wasm`,
    'ORCHARD_WASM',
  );
}

/** Counts a batch as a use of its model until its last slice. */
async function answerOf(model: WorkerModel, answering: Promise<BatchAnswer>): Promise<BatchAnswer> {
  model.uses += 1;
  let isUnfinished = false;
  try {
    const answer = await answering;
    isUnfinished = answer.isUnfinished;
    model.bytes = answer.loadedBytes ?? model.bytes;
    model.deviceUse = answer.deviceUse;
    noteRuntime(model, answer);
    return answer;
  } finally {
    if (!isUnfinished) model.uses = Math.max(0, model.uses - 1);
  }
}

/** Weight of the newest batch in the moving average of a model's times. */
const NEWEST = 0.2;
/** Assumed loading time before a model is loaded for the first time, in milliseconds. */
const LOAD_MS = 100;
/** Batches of a model before its least time counts: the first ones run code that isn't compiled yet. */
const COLD_BATCHES = 3;
/** How fast the least time follows slower batches. */
const RISE = 0.02;

/** Half-life of lost time in milliseconds: only steady loss is worth another copy of a model. */
const LOST_TIME_HALF_LIFE_MS = 3000;

class ModelFigures {
  loadMs = LOAD_MS;
  /** Of its folder, when it was loaded last. */
  version: string | undefined;
  /** The only version of its folder that is ever loaded. */
  pinned: string | undefined;
  /** Milliseconds that the calling thread has spent on what a worker could have done. */
  hereMs = 0;
  texts = 0;
  textMs = 0;
  /** Milliseconds per unit of work, as a moving average; 0 before the first batch. */
  workMs = 0;
  /** Milliseconds per unit of work where nothing holds it up: falls at once and rises slowly. 0 as long as it is unknown. */
  leastWorkMs = 0;
  #batches = 0;
  #lostMs = 0;
  #lostAt = 0;

  /** Recent milliseconds in which idle workers could not help, because they have not loaded the model. */
  get lostMs(): number {
    return this.#lostMs * 2 ** ((this.#lostAt - performance.now()) / LOST_TIME_HALF_LIFE_MS);
  }

  addLostTime(ms: number): void {
    this.#lostMs = this.lostMs + ms;
    this.#lostAt = performance.now();
  }

  resetLostTime(): void {
    this.#lostMs = 0;
  }

  /** @param elapsedMs without loading. */
  add(elapsedMs: number, texts: number, work: number): void {
    const ms = elapsedMs / work;
    this.#batches += 1;
    const weight = this.#batches === 1 ? 1 : NEWEST;
    this.workMs += weight * (ms - this.workMs);
    this.textMs += weight * (elapsedMs / texts - this.textMs);
    this.texts += texts;
    if (this.#batches <= COLD_BATCHES) return;
    const least = this.leastWorkMs;
    this.leastWorkMs = least === 0 || ms < least ? ms : least + RISE * (ms - least);
  }
}

/** Lost time that is worth another copy of a service's only model. */
const LEAST_LOST_MS = 1;

/** When all workers that have a model are busy for longer than this, another one loads it. */
const HELD_UP_MS = 1000;

/**
 * Decides which worker runs which model. A model stays on the worker that loaded it, so that it takes its memory once.
 * Another worker loads it when the time lost by waiting reaches the loading time (the ski-rental rule), or at once if the
 * service has no other model; the first one loads a model of the calling thread when batches have taken that thread as long.
 */
export class WorkerPool {
  readonly workers: readonly PooledWorker[];
  /** The calling thread, where it helps: it runs what no worker has loaded yet. */
  readonly here: PooledWorker | undefined;
  readonly #memory: ModelMemory;
  readonly #figures = new Map<string, ModelFigures>();

  constructor(workers: readonly PooledWorker[], memory: ModelMemory, here?: PooledWorker) {
    this.workers = workers;
    this.here = here;
    this.#memory = memory;
  }

  get idle(): PooledWorker[] {
    return this.workers.filter(({ isBusy }) => !isBusy);
  }

  /** Whether a worker or the calling thread is idle. */
  get mayRun(): boolean {
    return this.here?.isBusy === false || this.workers.some(({ isBusy }) => !isBusy);
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

  /** The version to load: another would answer otherwise than the copies that are loaded. Undefined for whichever is there. */
  versionOf(directory: string): string | undefined {
    const isLoaded = this.here?.has(directory) || this.workers.some((worker) => worker.has(directory));
    const { pinned, version } = this.figuresOf(directory);
    return pinned ?? (isLoaded ? version : undefined);
  }

  workersWith(directory: string): PooledWorker[] {
    return this.workers.filter(({ models }) => models.has(directory));
  }

  /**
   * The idle workers that should run a model now, with room made; none if it should wait.
   * @param isLong whether the next text is too long for the calling thread
   */
  workersFor(directory: string, isLong: boolean): PooledWorker[] {
    const owners = this.workersWith(directory);
    const idle = owners.filter(({ isBusy }) => !isBusy);
    if (idle.length > 0) return idle;
    const { here } = this;
    const isHereAlone = owners.every((owner) => !owner.has(directory)) && !isLong;
    if (isHereAlone && here?.has(directory)) return here.isBusy ? [] : [here];
    const longAgo = performance.now() - HELD_UP_MS;
    const isSoonIdle = ({ busySince, loading }: PooledWorker) => busySince > longAgo || loading === directory;
    if (owners.some(isSoonIdle)) return [];
    const first = leastModels(this.idle);
    return first !== undefined && this.#memory.makeRoomFor(directory) ? [first] : [];
  }

  /** The idle worker that should load another copy of a model, if any; resets the lost time. */
  workerForCopy(directory: string): PooledWorker | undefined {
    const figures = this.figuresOf(directory);
    const isFirst = this.workersWith(directory).length === 0;
    const leastLostMs = this.#figures.size === 1 ? LEAST_LOST_MS : figures.loadMs;
    const isWorth = isFirst ? figures.hereMs >= figures.loadMs : figures.lostMs >= leastLostMs;
    if (!isWorth) return undefined;
    const worker = leastModels(this.idle.filter(({ models }) => !models.has(directory)));
    if (worker === undefined || !this.#memory.hasRoomFor(directory)) return undefined;
    figures.hereMs = 0;
    figures.resetLostTime();
    return worker;
  }

  /** The worker to load a model in ahead of its first request. */
  workerToLoad(directory: string): PooledWorker | undefined {
    return this.workers.find(({ models }) => models.has(directory)) ?? leastModels(this.workers);
  }

  forget(directory: string): void {
    this.#figures.delete(directory);
    this.#memory.forget(directory);
    for (const worker of this.workers) worker.forget(directory);
    this.here?.forget(directory);
  }
}

function leastModels(workers: readonly PooledWorker[]): PooledWorker | undefined {
  const [first] = workers;
  if (first === undefined) return undefined;
  return workers.reduce((least, worker) => (worker.models.size < least.models.size ? worker : least), first);
}

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

  /** Before a first request; a promise if that takes time. @throws MemoryLimitError for a model above the limit */
  measure(directory: string): undefined | Promise<void> {
    if (this.#sizes.has(directory)) return undefined;
    const size = this.#sizeOf(directory);
    if (typeof size !== 'number') return size.then((bytes) => this.#note(directory, bytes));
    return void this.#note(directory, size);
  }

  /** @param copies of the model. */
  hasRoomFor(directory: string, copies = 1): boolean {
    return this.#used + copies * this.bytesOf(directory) <= this.#limit;
  }

  /** Whether texts of this size fit, once all unused models are unloaded. */
  couldTake(bytes: number): boolean {
    const inUse = this.#sum((model) => (model.uses > 0 ? model.bytes : 0));
    return this.#textBytes() + inUse + bytes <= this.#limit;
  }

  /** Unloads least recently used models until a model fits. @returns whether it fits, or no other model is loaded */
  makeRoomFor(directory: string): boolean {
    while (!this.hasRoomFor(directory)) {
      // Texts that wait for the model can't be freed before it runs.
      if (!this.#unloadOldest()) return this.#modelBytes === 0;
    }
    return true;
  }

  /** Unloads least recently used models until the limit is kept or all others are in use. */
  trim(): void {
    while (this.#used > this.#limit && this.#unloadOldest());
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

  /** Of the models that are not in use. @returns whether there was one */
  #unloadOldest(): boolean {
    let oldest: { worker: PooledWorker; directory: string; usedAt: number } | undefined;
    for (const worker of this.#workers) {
      for (const [directory, { uses, usedAt }] of worker.models) {
        if (uses === 0 && (oldest === undefined || usedAt < oldest.usedAt)) oldest = { worker, directory, usedAt };
      }
    }
    oldest?.worker.forget(oldest.directory);
    return oldest !== undefined;
  }
}
