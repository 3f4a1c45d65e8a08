import type { Batch, BatchAnswer, InferenceWorker, Loaded } from '../../src/inference/worker.js';

/** A worker that answers each text with itself as its label. What it is given waits until the test lets it go on. */
export class FakeWorker implements InferenceWorker {
  /** Everything that it was given. */
  readonly batches: Batch[] = [];
  /** The texts of each slice of work, in their order. */
  readonly slices: (readonly string[])[] = [];
  readonly cancelled = new Map<number, number[]>();
  readonly loaded: string[] = [];
  readonly forgotten: string[] = [];
  readonly abandoned: string[] = [];
  onLost?: () => void;
  isClosed = false;
  rests = 0;
  /** What a text takes, in milliseconds, as it tells. */
  textMs = 1;
  loadMs = 0;
  /** Texts that make a whole batch fail. */
  poison: string | undefined;
  poisonError: Error = new Error('poison');
  /** UTF-16 code units that a slice computes. */
  sliceCharacters = Number.POSITIVE_INFINITY;
  #waiting: { readonly go: () => void; readonly fail: (error: Error) => void }[] = [];
  readonly #left = new Map<number, number>();
  readonly #has = new Set<string>();

  /** @param isPatient whether it answers only when it is told to. */
  constructor(readonly isPatient = false) {}

  run(batch: Batch): Promise<BatchAnswer> {
    this.batches.push(batch);
    this.#left.set(
      batch.id,
      batch.texts.reduce((sum, { length }) => sum + length, 0),
    );
    return this.#slice(batch);
  }

  async resume(id: number): Promise<BatchAnswer> {
    const batch = this.batches.find((each) => each.id === id);
    if (batch === undefined) throw new Error('nothing to resume');
    return this.#slice(batch);
  }

  /** Answers the first batch that waits. */
  async goOn(): Promise<void> {
    this.#waiting.shift()?.go();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }

  cancel(id: number, positions: readonly number[]): void {
    this.cancelled.set(id, [...(this.cancelled.get(id) ?? []), ...positions]);
  }

  async load(directory: string): Promise<Loaded> {
    this.loaded.push(directory);
    this.#has.add(directory);
    return { ms: this.loadMs, bytes: 0 };
  }

  forget(directory: string): void {
    this.forgotten.push(directory);
    this.#has.delete(directory);
  }

  abandon(reason: string): void {
    this.abandoned.push(reason);
    this.onLost?.();
    for (const { fail } of this.#waiting.splice(0)) fail(new Error(reason));
  }

  rest(): void {
    this.rests += 1;
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }

  async #slice(batch: Batch): Promise<BatchAnswer> {
    const { id, texts } = batch;
    this.slices.push(texts);
    if (this.isPatient) await new Promise<void>((go, fail) => this.#waiting.push({ go, fail }));
    else await new Promise((resolve) => setImmediate(resolve));
    if (this.poison !== undefined && texts.includes(this.poison)) throw this.poisonError;
    this.#has.add(batch.directory);
    const left = (this.#left.get(id) ?? 0) - this.sliceCharacters;
    this.#left.set(id, left);
    const gone = this.cancelled.get(id) ?? [];
    const isUnfinished = left > 0 && gone.length < texts.length;
    return {
      results: texts.map((text, at) =>
        isUnfinished || gone.includes(at) ? undefined : { labels: [text], scores: [1] },
      ),
      truncated: texts.flatMap((text, at) => (text.length > 100 ? [at] : [])),
      times: { load: 0, tokenize: 0, run: this.textMs * texts.length, decode: 0 },
      isUnfinished,
    };
  }
}

/** Lets everything that is due happen. */
export const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));
