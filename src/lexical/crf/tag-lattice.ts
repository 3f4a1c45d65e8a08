/** Log-scores; −Infinity where one tag may not follow another. */
export interface TagTransitions {
  /** Of each tag at the first word. [tags] */
  readonly start: Float32Array;
  /** The earlier tag first. [tags, tags] */
  readonly between: Float32Array;
}

/** Forward-backward in log space (Rabiner 1989; Lafferty et al. 2001). If no path is open, every probability is NaN. */
export class TagLattice {
  /** 0 for a sentence without words. */
  readonly logPartition: number;
  readonly #tags: number;
  readonly #words: number;
  readonly #matrix: LogMatrix;
  /** Over the paths from the start to each tag, its own emission included. [words, tags] */
  readonly #forward: Float64Array;
  /** Over the paths from each tag to the end, its own emission included. [words, tags] */
  #onward: Float64Array | undefined;
  /** Where its sums start. */
  #onwardFrom: number;
  readonly #emissions: Float32Array;
  readonly #transitions: TagTransitions;

  /** @param emissions [words, tags], finite. */
  constructor(
    emissions: Float32Array,
    transitions: TagTransitions,
    matrix = new LogMatrix(transitions.between, transitions.start.length),
  ) {
    this.#emissions = emissions;
    this.#onwardFrom = emissions.length;
    this.#transitions = transitions;
    this.#tags = transitions.start.length;
    this.#words = emissions.length / this.#tags;
    this.#matrix = matrix;
    this.#forward = this.#sumForward();
    const last = this.#forward.subarray(this.#forward.length - this.#tags);
    this.logPartition = this.#words === 0 ? 0 : logSumExp(last);
  }

  /** [words, tags] */
  marginals(): Float32Array {
    const onward = this.#sumOnward();
    return this.#emissions.map((emission, at) =>
      Math.exp((this.#forward[at] ?? 0) + (onward[at] ?? 0) - emission - this.logPartition),
    );
  }

  /** The mean over all paths, the earlier tag first. [tags, tags] */
  expectedTransitions(): Float64Array {
    const tags = this.#tags;
    const onward = this.#sumOnward();
    const { between } = this.#transitions;
    const counts = new Float64Array(tags * tags);
    for (let next = tags; next < onward.length; next += tags) {
      for (let from = 0; from < tags; from += 1) {
        const log = (this.#forward[next - tags + from] ?? 0) - this.logPartition;
        for (let to = 0; to < tags; to += 1) {
          const at = from * tags + to;
          counts[at] = (counts[at] ?? 0) + Math.exp(log + (between[at] ?? 0) + (onward[next + to] ?? 0));
        }
      }
    }
    return counts;
  }

  /** The probability of exactly these tags from `from` on, with none of `notAfter` after them. */
  spanProbability(from: number, tags: readonly number[], notAfter: readonly number[] = []): number {
    const [first = 0] = tags;
    let log = this.#forward[from * this.#tags + first] ?? 0;
    let previous = first;
    for (const [index, tag] of tags.slice(1).entries()) {
      log += this.#transitions.between[previous * this.#tags + tag] ?? 0;
      log += this.#emissions[(from + index + 1) * this.#tags + tag] ?? 0;
      previous = tag;
    }
    const rest = this.#logOfRest(previous, from + tags.length, notAfter);
    return Math.exp(log + rest - this.logPartition);
  }

  /** Over the paths from `word` to the end that follow `previous`. */
  #logOfRest(previous: number, word: number, notAfter: readonly number[]): number {
    if (word >= this.#words) return 0;
    const onward = this.#sumOnward(word).subarray(word * this.#tags, (word + 1) * this.#tags);
    const following = this.#transitions.between.subarray(previous * this.#tags, (previous + 1) * this.#tags);
    return logSumExp(
      onward.map((log, tag) => (notAfter.includes(tag) ? Number.NEGATIVE_INFINITY : log + (following[tag] ?? 0))),
    );
  }

  #sumForward(): Float64Array {
    const tags = this.#tags;
    const logs = new Float64Array(this.#emissions.length);
    logs.set(this.#transitions.start.subarray(0, logs.length));
    for (let at = 0; at < logs.length; at += tags) {
      if (at > 0) this.#matrix.multiplyLeft({ logs, at: at - tags }, { logs, at });
      this.#addEmissions(logs, at);
    }
    return logs;
  }

  /** @param first word to have sums for; those before it may have none. */
  #sumOnward(first = 0): Float64Array {
    const tags = this.#tags;
    this.#onward ??= new Float64Array(this.#emissions.length);
    const logs = this.#onward;
    for (; this.#onwardFrom > first * tags; this.#onwardFrom -= tags) {
      const at = this.#onwardFrom - tags;
      if (at + tags < logs.length) this.#matrix.multiplyRight({ logs, at: at + tags }, { logs, at });
      this.#addEmissions(logs, at);
    }
    return logs;
  }

  #addEmissions(logs: Float64Array, start: number): void {
    const emissions = this.#emissions;
    for (let at = start; at < start + this.#tags; at += 1) logs[at] = (logs[at] ?? 0) + (emissions[at] ?? 0);
  }
}

/** Without overflow; −Infinity if there are none. */
function logSumExp(logs: ArrayLike<number>): number {
  let largest = Number.NEGATIVE_INFINITY;
  for (let at = 0; at < logs.length; at += 1) largest = Math.max(largest, logs[at] ?? 0);
  if (largest === Number.NEGATIVE_INFINITY) return largest;
  let sum = 0;
  for (let at = 0; at < logs.length; at += 1) sum += Math.exp((logs[at] ?? 0) - largest);
  return largest + Math.log(sum);
}

/** Sums below this have lost precision. */
const SMALLEST_SUM = 1e-290;

interface LogRow {
  readonly logs: Float64Array;
  readonly at: number;
}

/** A square matrix and vectors, given by the logarithms of their entries. */
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

/** Viterbi 1967; of equal paths, the lower id at the last difference. @param emissions [words, tags], finite. */
export function viterbi(emissions: Float32Array, { start, between }: TagTransitions): Int32Array {
  const tags = start.length;
  const words = emissions.length / tags;
  /** The tag before each tag on the best path to it. [words, tags] */
  const previous = new Int32Array(emissions.length);
  let scores = new Float64Array(tags);
  let next = new Float64Array(tags);
  for (let tag = 0; tag < tags; tag += 1) scores[tag] = (start[tag] ?? 0) + (emissions[tag] ?? 0);
  for (let row = tags; row < emissions.length; row += tags) {
    for (let tag = 0; tag < tags; tag += 1) {
      let best = 0;
      let bestScore = Number.NEGATIVE_INFINITY;
      for (let from = 0; from < tags; from += 1) {
        const score = (scores[from] ?? 0) + (between[from * tags + tag] ?? 0);
        if (score > bestScore) {
          best = from;
          bestScore = score;
        }
      }
      previous[row + tag] = best;
      next[tag] = bestScore + (emissions[row + tag] ?? 0);
    }
    [scores, next] = [next, scores];
  }
  const path = new Int32Array(words);
  let tag = scores.indexOf(Math.max(...scores));
  for (let word = words - 1; word >= 0; word -= 1) {
    path[word] = tag;
    tag = previous[word * tags + tag] ?? 0;
  }
  return path;
}
