import { readFileSync } from 'node:fs';

/** How long the thread of an application is kept from other work. */
export interface Stalls {
  readonly seconds: number;
  /** The most processor time of this thread between two turns of its event loop, in milliseconds; NaN but on Linux. */
  readonly processorMs: number;
  /** The longest time between two turns, in milliseconds: with other busy processes, it is longer. */
  readonly wallMs: number;
  /** Most resident memory, in MiB. */
  readonly mebibytes: number;
}

/** The processor time of the main thread. */
function processorMs(): number {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ')[0]) / 1e6;
  } catch {
    return Number.NaN;
  }
}

const TICK_MS = 1;

/** Measures this thread while some work is done that was asked of it. */
export async function stallsDuring(work: () => Promise<unknown>): Promise<Stalls> {
  globalThis.gc?.();
  const started = performance.now();
  let [turn, spent] = [started, processorMs()];
  const most = { processorMs: 0, wallMs: 0, mebibytes: 0 };
  const look = () => {
    const [now, nowSpent] = [performance.now(), processorMs()];
    most.wallMs = Math.max(most.wallMs, now - turn - TICK_MS);
    most.processorMs = Math.max(most.processorMs, nowSpent - spent);
    most.mebibytes = Math.max(most.mebibytes, process.memoryUsage.rss() / 2 ** 20);
    [turn, spent] = [performance.now(), processorMs()];
  };
  const timer = setInterval(look, TICK_MS);
  try {
    await work();
    const seconds = (performance.now() - started) / 1000;
    await new Promise((resolve) => setTimeout(resolve, 10 * TICK_MS));
    return { seconds, ...most };
  } finally {
    clearInterval(timer);
  }
}
