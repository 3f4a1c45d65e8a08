const RUNNING = 0;
const IS_FORBIDDEN = 1;

/**
 * The running calls of ONNX Runtime in a thread, in memory that it shares with the thread that started it: a thread that is
 * terminated within such a call, also by the end of the process, aborts the process.
 */
export class NativeCalls {
  /** [2] */
  readonly shared: Int32Array;

  constructor(shared: Int32Array = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT))) {
    this.shared = shared;
  }

  get running(): number {
    return Atomics.load(this.shared, RUNNING);
  }

  /** Counts a call. If calls are forbidden, it is not made, and the promise stays pending: the process ends. */
  async count<Value>(call: () => Promise<Value>): Promise<Value> {
    Atomics.add(this.shared, RUNNING, 1);
    const end = () => {
      Atomics.sub(this.shared, RUNNING, 1);
      Atomics.notify(this.shared, RUNNING);
    };
    if (Atomics.load(this.shared, IS_FORBIDDEN) === 1) {
      end();
      return new Promise<never>(() => {});
    }
    try {
      return await call();
    } finally {
      end();
    }
  }

  /** No call begins from now on. */
  forbid(): void {
    Atomics.store(this.shared, IS_FORBIDDEN, 1);
  }

  /** Blocks until no call runs. @param until at the latest, by `performance.now` */
  waitForEnd(until: number): void {
    for (let running = this.running; running > 0; running = this.running) {
      const left = until - performance.now();
      if (left <= 0) return;
      Atomics.wait(this.shared, RUNNING, running, left);
    }
  }
}
