import { LogMatrix, logSumExp } from './log-matrix.js';

/** Log-scores of one tag after another; −Infinity where it may not follow. */
export interface TagTransitions {
  /** Of each tag at the first word. [tags] */
  readonly start: Float32Array;
  /** Of each tag after each, the earlier one first. [tags, tags] */
  readonly between: Float32Array;
}

/**
 * All paths of tags through a sentence, each as probable as the exponential of its sum of emissions and
 * transitions: the forward-backward algorithm in log space (Rabiner 1989, III; Lafferty et al. 2001). The
 * transitions must leave at least one path open; otherwise every probability is NaN.
 */
export class TagLattice {
  /** Logarithm of the sum over all paths; 0 for a sentence without words. */
  readonly logPartition: number;
  readonly #tags: number;
  readonly #words: number;
  readonly #matrix: LogMatrix;
  /** Log of the sum over the paths from the start to each tag, its own emission included. [words, tags] */
  readonly #forward: Float64Array;
  /**
   * Log of the sum over the paths from each tag to the end, its own emission included; computed on first use.
   */
  #onward: Float64Array | undefined;
  readonly #emissions: Float32Array;
  readonly #transitions: TagTransitions;

  /**
   * @param emissions [words, tags], finite.
   * @param matrix of the transitions between tags: made once where many sentences have the same ones.
   */
  constructor(
    emissions: Float32Array,
    transitions: TagTransitions,
    matrix = new LogMatrix(transitions.between, transitions.start.length),
  ) {
    this.#emissions = emissions;
    this.#transitions = transitions;
    this.#tags = transitions.start.length;
    this.#words = emissions.length / this.#tags;
    this.#matrix = matrix;
    this.#forward = this.#sumForward();
    const last = this.#forward.subarray(this.#forward.length - this.#tags);
    this.logPartition = this.#words === 0 ? 0 : logSumExp(last);
  }

  /** Posterior probability of each tag at each word. [words, tags] */
  marginals(): Float32Array {
    const onward = this.#sumOnward();
    return this.#emissions.map((emission, at) =>
      Math.exp((this.#forward[at] ?? 0) + (onward[at] ?? 0) - emission - this.logPartition),
    );
  }

  /** How often each tag follows each, the earlier one first, in the mean over all paths. [tags, tags] */
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

  /**
   * The probability that the words from `from` on have exactly these tags and that the word after them, if
   * any, has none of the tags `notAfter`.
   * @param tags at least one, and no more than there are words from `from` on.
   */
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

  /** Log of the sum over the paths from `word` to the end that follow the tag `previous`. */
  #logOfRest(previous: number, word: number, notAfter: readonly number[]): number {
    if (word >= this.#words) return 0;
    const onward = this.#sumOnward().subarray(word * this.#tags, (word + 1) * this.#tags);
    const following = this.#transitions.between.subarray(previous * this.#tags, (previous + 1) * this.#tags);
    return logSumExp(
      onward.map((log, tag) =>
        notAfter.includes(tag) ? Number.NEGATIVE_INFINITY : log + (following[tag] ?? 0),
      ),
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

  #sumOnward(): Float64Array {
    if (this.#onward) return this.#onward;
    const tags = this.#tags;
    const logs = new Float64Array(this.#emissions.length);
    for (let at = logs.length - tags; at >= 0; at -= tags) {
      if (at + tags < logs.length) this.#matrix.multiplyRight({ logs, at: at + tags }, { logs, at });
      this.#addEmissions(logs, at);
    }
    this.#onward = logs;
    return logs;
  }

  #addEmissions(logs: Float64Array, start: number): void {
    const emissions = this.#emissions;
    for (let at = start; at < start + this.#tags; at += 1) logs[at] = (logs[at] ?? 0) + (emissions[at] ?? 0);
  }
}
