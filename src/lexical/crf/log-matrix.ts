/** ln Σ exp(logs[i]), without overflow; −Infinity if there are none. */
export function logSumExp(logs: ArrayLike<number>): number {
  let largest = Number.NEGATIVE_INFINITY;
  for (let at = 0; at < logs.length; at += 1) largest = Math.max(largest, logs[at] ?? 0);
  if (largest === Number.NEGATIVE_INFINITY) return largest;
  let sum = 0;
  for (let at = 0; at < logs.length; at += 1) sum += Math.exp((logs[at] ?? 0) - largest);
  return largest + Math.log(sum);
}

/** Sums below this have lost precision. */
const SMALLEST_SUM = 1e-290;

/** One row of an array of logarithms [any, size], which a product reads or writes. */
export interface LogRow {
  readonly logs: Float64Array;
  /** Where the row starts. */
  readonly at: number;
}

/** A square matrix, given by the logarithms of its entries, that multiplies vectors given by theirs. */
export class LogMatrix {
  readonly #entries: Float64Array;
  readonly #factors: Float64Array;
  readonly #logs: Float32Array;
  readonly #size: number;

  /** @param logs [size, size] */
  constructor(logs: Float32Array, size: number) {
    this.#logs = logs;
    this.#size = size;
    this.#entries = Float64Array.from(logs, (log) => Math.exp(log));
    this.#factors = new Float64Array(size);
  }

  /** output[j] = ln Σᵢ exp(input[i] + matrix[i, j]) */
  multiplyLeft(input: LogRow, output: LogRow): void {
    this.#multiply(input, output, this.#size, 1);
  }

  /** output[i] = ln Σⱼ exp(matrix[i, j] + input[j]) */
  multiplyRight(input: LogRow, output: LogRow): void {
    this.#multiply(input, output, 1, this.#size);
  }

  /** Sums over the index whose stride is `inner`, for each value of the index whose stride is `outer`. */
  #multiply(input: LogRow, output: LogRow, inner: number, outer: number): void {
    const size = this.#size;
    const factors = this.#factors;
    const entries = this.#entries;
    const from = input.logs;
    let largest = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < size; i += 1) largest = Math.max(largest, from[input.at + i] ?? 0);
    for (let i = 0; i < size; i += 1) factors[i] = Math.exp((from[input.at + i] ?? 0) - largest);
    for (let o = 0; o < size; o += 1) {
      let sum = 0;
      for (let i = 0; i < size; i += 1) sum += (factors[i] ?? 0) * (entries[i * inner + o * outer] ?? 0);
      // If all terms are forbidden or too small for a double, the slow way tells which.
      output.logs[output.at + o] =
        sum > SMALLEST_SUM ? largest + Math.log(sum) : this.#sumOfLogs(input, o * outer, inner);
    }
  }

  #sumOfLogs(input: LogRow, first: number, inner: number): number {
    const row = input.logs.subarray(input.at, input.at + this.#size);
    return logSumExp(row.map((log, i) => log + (this.#logs[first + i * inner] ?? 0)));
  }
}
