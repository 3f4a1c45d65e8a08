import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Device, InternalError, type Runtime } from '../contract/index.js';
import { RuleSet } from '../families/index.js';
import { changedFolder, readRulesFile, readUnchanged } from '../models/index.js';
import { withPauses } from '../system/index.js';
import type { BatchWork } from './batch-work.js';
import { SharedTokenizers, TextModel } from './text-model.js';
import type { Batch, BatchAnswer, InferenceWorker, Loaded } from './worker.js';

export interface WorkerOptions {
  /** Most threads of a run while nothing else runs. */
  readonly threads: number;
  readonly device?: Device;
  readonly runtime?: Runtime;
}

/** Somewhat longer than the target duration of a batch, so that mostly long texts take several slices. */
const SLICE_MS = 40;

/** Sets of rules that models were opened with, which are kept ready. */
const MOST_RULE_SETS = 16;

/** A loaded model. It stays in memory while it is used, even if it was forgotten. */
interface LoadedModel {
  readonly model: TextModel;
  readonly version: string;
  uses: number;
  isForgotten: boolean;
}

/** A batch from its arrival until its last slice. */
interface OpenBatch {
  readonly cancelled: Set<number>;
  loaded?: LoadedModel;
  work?: BatchWork;
}

/** Runs models in the calling thread, which each run blocks; one call at a time, in their order. */
export class InlineWorker implements InferenceWorker {
  readonly #options: WorkerOptions;
  readonly #models = new Map<string, LoadedModel>();
  readonly #tokenizers = new SharedTokenizers();
  readonly #released = new Set<Promise<void>>();
  readonly #batches = new Map<number, OpenBatch>();
  /** By the path of their file, which is written once. The least recently used are first. */
  readonly #rules = new Map<string, RuleSet>();
  #running: number | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  run(batch: Batch): Promise<BatchAnswer> {
    this.#batches.set(batch.id, { cancelled: new Set() });
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
    const batch = this.#batches.get(id);
    for (const position of positions) batch?.cancelled.add(position);
    if (this.#running !== id && batch?.work?.isCancelled) this.#end(id);
  }

  load(directory: string, version?: string): Promise<Loaded> {
    return this.#next(async () => {
      const { ms, loaded } = await this.#load(directory, version);
      const { bytes, deviceUse, runtimeUse } = loaded.model;
      return { ms, bytes, version: loaded.version, deviceUse, runtimeUse };
    });
  }

  forget(directory: string): void {
    void this.#next(async () => this.#forget(directory));
  }

  /** A thread can't abandon itself. */
  abandon(): void {}

  rest(): void {
    void this.close().catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.#next(async () => {
      for (const id of [...this.#batches.keys()]) this.#end(id);
      for (const directory of [...this.#models.keys()]) this.#forget(directory);
      await Promise.all(this.#released);
    });
  }

  async #begin({ id, directory, version, texts, alone, explain, rules }: Batch): Promise<BatchAnswer> {
    try {
      const known = this.#models.get(directory);
      const { ms, loaded } = known ? { ms: 0, loaded: known } : await this.#load(directory, version);
      const batch = this.#batches.get(id);
      if (batch === undefined) throw gone();
      loaded.uses += 1;
      batch.loaded = loaded;
      const applied = rules && (await this.#rulesFor(rules));
      batch.work = loaded.model.begin(texts, { cancelled: batch.cancelled, explain, rules: applied });
      const answer = await this.#advance(id, alone);
      if (ms === 0) return answer;
      const times = { ...answer.times, load: ms };
      const { bytes, runtimeUse } = loaded.model;
      return { ...answer, times, loadedBytes: bytes, version: loaded.version, runtimeUse };
    } catch (thrown) {
      this.#end(id);
      throw thrown;
    }
  }

  async #advance(id: number, alone: boolean): Promise<BatchAnswer> {
    const { work, loaded } = this.#batches.get(id) ?? {};
    if (work === undefined || loaded === undefined) throw gone();
    work.alone = alone;
    let isUnfinished = false;
    this.#running = id;
    try {
      const slice = await work.advance(SLICE_MS);
      isUnfinished = slice.isUnfinished && !work.isCancelled;
      const { device = 'cpu' } = this.#options;
      return { ...slice, isUnfinished, ...(device !== 'cpu' && { deviceUse: loaded.model.deviceUse }) };
    } finally {
      this.#running = undefined;
      if (!isUnfinished) this.#end(id);
    }
  }

  async #load(
    directory: string,
    expected: string | undefined,
  ): Promise<{ readonly ms: number; readonly loaded: LoadedModel }> {
    const known = this.#models.get(directory);
    if (known !== undefined) return { ms: 0, loaded: known };
    const startedAt = performance.now();
    const { threads, ...place } = this.#options;
    const { value: model, version } = await readUnchanged(
      directory,
      async (found) => {
        if (expected !== undefined && found !== expected) throw changedFolder(directory);
        return TextModel.load(directory, threads, this.#tokenizers, place);
      },
      (loaded) => loaded.release(),
    );
    const loaded: LoadedModel = { model, version, uses: 0, isForgotten: false };
    this.#models.set(directory, loaded);
    return { ms: performance.now() - startedAt, loaded };
  }

  async #rulesFor(given: NonNullable<Batch['rules']>): Promise<(RuleSet | false | undefined)[]> {
    const sets = new Map<string, RuleSet>();
    for (const file of new Set(given)) {
      if (typeof file !== 'string') continue;
      const set = this.#rules.get(file) ?? (await withPauses(RuleSet.build(await readRulesFile(file))));
      sets.set(file, set);
      this.#rules.delete(file);
      this.#rules.set(file, set);
    }
    for (const file of [...this.#rules.keys()].slice(0, -MOST_RULE_SETS)) this.#rules.delete(file);
    return given.map((file) => (typeof file === 'string' ? sets.get(file) : file));
  }

  #forget(directory: string): void {
    const loaded = this.#models.get(directory);
    if (loaded === undefined) return;
    this.#models.delete(directory);
    loaded.isForgotten = true;
    this.#releaseIfUnused(loaded);
  }

  #releaseIfUnused({ model, uses, isForgotten }: LoadedModel): void {
    if (uses > 0 || !isForgotten) return;
    const released = model.release().finally(() => this.#released.delete(released));
    this.#released.add(released);
  }

  #end(id: number): void {
    const loaded = this.#batches.get(id)?.loaded;
    this.#batches.delete(id);
    if (loaded === undefined) return;
    loaded.uses -= 1;
    this.#releaseIfUnused(loaded);
  }

  #next<Value>(work: () => Promise<Value>): Promise<Value> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

function gone(): InternalError {
  return new InternalError('the rest of this batch is gone: its thread was replaced');
}
