/** Resident memory, MiB, once this thread's garbage is gone. The process needs `--expose-gc`. */
export async function settledMebibytes(): Promise<number> {
  for (let time = 0; time < 2; time += 1) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, SETTLING_MS));
  }
  return residentMebibytes();
}

/** What the allocators need to give memory back. */
const SETTLING_MS = 200;

export function residentMebibytes(): number {
  return process.memoryUsage.rss() / 2 ** 20;
}
