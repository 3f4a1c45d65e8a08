import { readdirSync, readFileSync } from 'node:fs';

const SAMPLE_EVERY_MS = 1000;

export interface ProcessSample {
  readonly minute: number;
  readonly residentMebibytes: number;
  /** Open files, sockets among them. */
  readonly handles: number;
}

/** Resident memory and open files of a process, every second, as Linux tells them. */
export class ProcessFigures {
  readonly samples: ProcessSample[] = [];
  readonly #pid: number;
  readonly #startedAt = performance.now();
  readonly #timer: NodeJS.Timeout;

  constructor(pid: number) {
    this.#pid = pid;
    this.#timer = setInterval(() => this.#sample(), SAMPLE_EVERY_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#sample();
  }

  /** The samples of the latter part of the time, without the share of it that counts as warming up. */
  after(warmUp: number): ProcessSample[] {
    const from = (this.samples.at(-1)?.minute ?? 0) * warmUp;
    return this.samples.filter(({ minute }) => minute >= from);
  }

  #sample(): void {
    const status = readFileSync(`/proc/${this.#pid}/status`, 'utf8');
    this.samples.push({
      minute: (performance.now() - this.#startedAt) / 60_000,
      residentMebibytes: Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024,
      handles: readdirSync(`/proc/${this.#pid}/fd`).length,
    });
  }
}

/** Slope of the line of least squares. */
export function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (axis: 0 | 1) => points.reduce((sum, point) => sum + point[axis], 0) / points.length;
  const [meanX, meanY] = [mean(0), mean(1)];
  const covariance = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  const variance = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  return covariance / variance;
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
