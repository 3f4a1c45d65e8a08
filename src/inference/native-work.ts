/** Counts the calls of ONNX Runtime under way in this thread; shared with the thread that started it. */
let calls: Int32Array = new Int32Array(1);

/** @param shared where another thread can see the count: ending a thread within such a call ends the whole process. */
export function countNativeWorkIn(shared: Int32Array): void {
  calls = shared;
}

export async function nativeWork<Value>(work: () => Promise<Value>): Promise<Value> {
  Atomics.add(calls, 0, 1);
  try {
    return await work();
  } finally {
    Atomics.sub(calls, 0, 1);
  }
}
