/** A run's padded size. */
export interface RunSize {
  readonly rows: number;
  /** Tokens of the longest row. */
  readonly tokens: number;
}

/** Numbers that a run's time is a sum of, each times a coefficient. */
type Features = readonly [start: number, tokens: number, pairs: number];

/**
 * What starting a run costs, what a token costs, and what the pairs of tokens that attention compares cost, in tokens:
 * measured on minis and bases on two cores, and good enough until a model's own runs say more.
 */
const PRIOR: Features = [18, 1, 1 / 1500];
/** Runs that the prior stands for, at first. */
const PRIOR_SIZES: readonly RunSize[] = [
  { rows: 1, tokens: 8 },
  { rows: 1, tokens: 128 },
  { rows: 8, tokens: 32 },
  { rows: 4, tokens: 256 },
];
/** Weight of a run after each further one: the last two hundred or so count. */
const KEPT = 0.995;
/** Runs between two fits. */
const RUNS_PER_FIT = 8;

/**
 * How long runs of a model take on this machine: start + tokens · a + rows · tokens² · b, fitted to the runs as they
 * happen by least squares of the relative error, so that long runs don't count more than short ones.
 */
export class RunCost {
  #coefficients: Features = PRIOR;
  /** Sums of products of two features, upper triangle by rows, and of the features themselves. */
  #products = [0, 0, 0, 0, 0, 0];
  #sums = [0, 0, 0];
  #runs = 0;

  /** In tokens of a long run; in milliseconds once runs were learned from. */
  cost(size: RunSize): number {
    return costOf(this.#coefficients, size);
  }

  /** @param ms how long a run took. */
  learn(size: RunSize, ms: number): void {
    if (!(ms > 0)) return;
    if (this.#runs === 0) this.#assume(ms / costOf(PRIOR, size));
    this.#add(size, ms);
    this.#runs += 1;
    if (this.#runs % RUNS_PER_FIT === 0) this.#fit();
  }

  #assume(msPerToken: number): void {
    for (const size of PRIOR_SIZES) this.#add(size, msPerToken * costOf(PRIOR, size));
  }

  #add({ rows, tokens }: RunSize, ms: number): void {
    const [a, b, c] = [1 / ms, (rows * tokens) / ms, (rows * tokens * tokens) / ms];
    this.#products = [a * a, a * b, a * c, b * b, b * c, c * c].map(
      (product, at) => KEPT * (this.#products[at] ?? 0) + product,
    );
    this.#sums = [a, b, c].map((sum, at) => KEPT * (this.#sums[at] ?? 0) + sum);
  }

  /** Keeps what was known where the runs were too much alike, or too noisy, to tell the three apart. */
  #fit(): void {
    const [aa = 0, ab = 0, ac = 0, bb = 0, bc = 0, cc = 0] = this.#products;
    const matrix = [
      [aa, ab, ac],
      [ab, bb, bc],
      [ac, bc, cc],
    ];
    const [start = 0, perToken = 0, perPair = 0] = solve(matrix, this.#sums);
    const isSound = [start, perToken, perPair].every((each) => Number.isFinite(each) && each > 0);
    if (isSound) this.#coefficients = [start, perToken, perPair];
  }
}

function costOf([start, perToken, perPair]: Features, { rows, tokens }: RunSize): number {
  return start + rows * tokens * (perToken + perPair * tokens);
}

/** The solution of three equations by Cramer's rule. */
function solve(matrix: readonly (readonly number[])[], right: readonly number[]): number[] {
  const whole = determinant(matrix);
  return right.map((_, column) => {
    const replaced = matrix.map((row, at) => row.map((each, k) => (k === column ? (right[at] ?? 0) : each)));
    return determinant(replaced) / whole;
  });
}

function determinant(matrix: readonly (readonly number[])[]): number {
  const [[a = 0, b = 0, c = 0] = [], [d = 0, e = 0, f = 0] = [], [g = 0, h = 0, i = 0] = []] = matrix;
  return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g);
}
