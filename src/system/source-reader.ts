import { AbortedError } from '../contract/index.js';
import { onAbort } from './on-abort.js';
import { isPauseDue, pause } from './pauses.js';

interface ReaderOptions {
  /** What is done, in words: an AbortedError names it. */
  readonly doing: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads a source, one item at a time. `next` rejects with an AbortedError as soon as the signal fires, even while the source
 * waits for its next item. An abort and `return` close a source that has not ended, also if nothing iterated the reader.
 */
export class SourceReader<Item> implements AsyncIterableIterator<Item, undefined, undefined> {
  readonly #source: Iterator<Item> | AsyncIterator<Item>;
  readonly #options: ReaderOptions;
  readonly #forget: () => void;
  /** Items that were put back, the next one last. */
  #again: IteratorYieldResult<Item>[] = [];
  /** Rejects `next` while the source is waited for. */
  #interrupt: ((error: AbortedError) => void) | undefined;
  #hasEnded = false;

  constructor(source: Iterable<Item> | AsyncIterable<Item>, options: ReaderOptions) {
    this.#source = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
    this.#options = options;
    const { signal } = options;
    this.#forget = signal ? onAbort(signal, () => this.#interrupt?.(this.#aborted())) : () => {};
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** @throws AbortedError as soon as the signal fires; what the source throws */
  async next(): Promise<IteratorResult<Item, undefined>> {
    try {
      if (this.#options.signal?.aborted) throw this.#aborted();
      const again = this.#again.pop();
      if (again !== undefined) return again;
      const next = this.#hasEnded ? undefined : await this.#read();
      if (next !== undefined && next.done !== true) return { done: false, value: next.value };
    } catch (thrown) {
      if (this.#options.signal?.aborted) await this.return();
      this.#end();
      throw thrown;
    }
    this.#end();
    return { done: true, value: undefined };
  }

  /** Gives items that were read again. */
  putBack(items: readonly Item[]): void {
    for (const value of items.toReversed()) this.#again.push({ done: false, value });
  }

  /**
   * Waits until the source is closed, but not after an abort, nor while the source waits for its next item: a generator is
   * closed only after that.
   */
  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#again = [];
    if (!this.#hasEnded) {
      this.#end();
      const closing = this.#close();
      if (this.#interrupt === undefined && !this.#options.signal?.aborted) await closing;
      else closing.catch(() => undefined);
    }
    return { done: true, value: undefined };
  }

  async #read(): Promise<IteratorResult<Item> | undefined> {
    const next = await new Promise<IteratorResult<Item>>((resolve, reject) => {
      this.#interrupt = reject;
      Promise.resolve(this.#source.next()).then(resolve, reject);
    });
    this.#interrupt = undefined;
    return this.#hasEnded ? undefined : next; // it may have been closed meanwhile
  }

  async #close(): Promise<void> {
    await this.#source.return?.();
  }

  #end(): void {
    this.#hasEnded = true;
    this.#forget();
  }

  #aborted(): AbortedError {
    return new AbortedError(this.#options.doing, { cause: this.#options.signal?.reason });
  }
}

/** All items of a source, read with pauses. A reader is read as it is, with its own options. @throws AbortedError as soon as the signal fires; what the source throws */
export async function allItems<Item>(
  source: Iterable<Item> | AsyncIterable<Item>,
  options: ReaderOptions,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  const reader = source instanceof SourceReader ? source : new SourceReader(source, options);
  for await (const item of reader) {
    items.push(item);
    if (isPauseDue()) await pause(options.signal);
  }
  return items;
}
