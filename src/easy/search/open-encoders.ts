/** What is kept open for the next call. */
interface Opened<Encoder> {
  readonly encoder: Promise<Encoder>;
  /** Calls that work with it. */
  calls: number;
}

/**
 * Encoders that were asked for, so that the next call needn't open them again: the few that were used last, and those that
 * a call works with. The others are closed.
 */
export class OpenEncoders<Encoder extends { close(): Promise<void> }> {
  /** By key, the one used last at the end. */
  readonly #opened = new Map<string, Opened<Encoder>>();
  readonly #kept: number;

  /** @param kept how many stay open that no call works with. */
  constructor(kept: number) {
    this.#kept = kept;
  }

  /**
   * Works with an encoder, which stays open meanwhile.
   * @param open is called unless it is open. One that fails is asked again by the next call.
   * @throws what `open` and `work` throw
   */
  async use<Value>(
    key: string,
    open: () => Promise<Encoder>,
    work: (encoder: Encoder) => Promise<Value>,
  ): Promise<Value> {
    const opened = this.#opened.get(key) ?? { encoder: open(), calls: 0 };
    this.#opened.delete(key);
    this.#opened.set(key, opened);
    opened.calls += 1;
    try {
      return await work(await this.#orForgotten(key, opened));
    } finally {
      opened.calls -= 1;
      await this.#closeOthers();
    }
  }

  /** The encoder; one that can't be opened is not kept. */
  async #orForgotten(key: string, opened: Opened<Encoder>): Promise<Encoder> {
    try {
      return await opened.encoder;
    } catch (thrown) {
      if (this.#opened.get(key) === opened) this.#opened.delete(key);
      throw thrown;
    }
  }

  async #closeOthers(): Promise<void> {
    const idle = [...this.#opened].filter(([, { calls }]) => calls === 0);
    const closing = idle.slice(0, Math.max(0, idle.length - this.#kept));
    for (const [key] of closing) this.#opened.delete(key);
    await Promise.all(closing.map(async ([, { encoder }]) => (await encoder).close()));
  }
}
