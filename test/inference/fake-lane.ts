import type { Batch, BatchAnswer, Lane } from '../../src/inference/lane.js';

/** A lane that answers each text with itself as its label. What it is given waits until the test lets it go on. */
export class FakeLane implements Lane {
  /** Everything that it was given. */
  readonly batches: Batch[] = [];
  readonly cancelled = new Map<number, number[]>();
  readonly loaded: string[] = [];
  isClosed = false;
  /** What a text takes, in milliseconds, as it tells. */
  textMs = 1;
  loadMs = 0;
  /** Texts that make a whole batch fail. */
  poison: string | undefined;
  #waiting: { readonly batch: Batch; readonly go: () => void }[] = [];

  /** @param isPatient whether it answers only when it is told to. */
  constructor(readonly isPatient = false) {}

  async run(batch: Batch): Promise<BatchAnswer> {
    this.batches.push(batch);
    if (this.isPatient) await new Promise<void>((go) => this.#waiting.push({ batch, go }));
    else await new Promise((resolve) => setImmediate(resolve));
    if (this.poison !== undefined && batch.texts.includes(this.poison)) throw new Error('poison');
    const gone = this.cancelled.get(batch.id) ?? [];
    return {
      results: batch.texts.map((text, at) =>
        gone.includes(at) ? undefined : { labels: [text], scores: [1] },
      ),
      truncated: batch.texts.flatMap((text, at) => (text.length > 100 ? [at] : [])),
      tokens: batch.texts.length,
      times: { load: 0, tokenize: 0, run: this.textMs * batch.texts.length, decode: 0 },
    };
  }

  /** Answers the first batch that waits. */
  async goOn(): Promise<void> {
    this.#waiting.shift()?.go();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }

  cancel(id: number, positions: readonly number[]): void {
    this.cancelled.set(id, [...(this.cancelled.get(id) ?? []), ...positions]);
  }

  async load(directory: string): Promise<number> {
    this.loaded.push(directory);
    return this.loadMs;
  }

  forget(): void {}

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

/** Lets everything that is due happen. */
export const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));
