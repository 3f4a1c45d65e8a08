/** Runs the tasks of one key one after the other, in the order given; tasks of different keys run concurrently. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const result = before.then(work);
    const ended = result
      .catch(() => undefined) // a failure concerns its own caller, not the next one
      .finally(() => {
        if (this.#last.get(key) === ended) this.#last.delete(key);
      });
    this.#last.set(key, ended);
    return result;
  }
}
