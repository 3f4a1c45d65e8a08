import { cpus, totalmem } from 'node:os';

/** What every bench prints about where it ran. */

export function machine(): string {
  const processors = cpus();
  const gigabytes = (totalmem() / 2 ** 30).toFixed(0);
  return `${processors[0]?.model ?? 'unknown processor'}, ${processors.length} cores, ${gigabytes} GiB, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}`;
}

/** The value that this share of all values lies at or below. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** The middle value, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2;
}
