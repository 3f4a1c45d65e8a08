import type { Means } from './target-folder.js';

/** Collects the vectors of passages and of spans, to know what each kind has in common. */
export class MeanSums {
  readonly #passages: Spread;
  readonly #spans: Spread;

  /** @param width numbers of a vector. */
  constructor(width: number) {
    this.#passages = new Spread(width);
    this.#spans = new Spread(width);
  }

  add(isPassage: boolean, vector: Float32Array): void {
    (isPassage ? this.#passages : this.#spans).add(vector);
  }

  means(): Means {
    return { passages: this.#passages.mean(), spans: this.#spans.mean() };
  }

  /** How alike the vectors are before and after their mean is subtracted: mean ± standard deviation of cosines. */
  told(): string {
    return `passages ${this.#passages.told()}; spans ${this.#spans.told()}`;
  }
}

/** Most vectors that are compared with each other, and of how many one is. */
const COMPARED = 512;
const EVERY = 7;

/** Vectors' sum, and some of them. */
class Spread {
  readonly #sum: Float64Array;
  readonly #some: Float32Array[] = [];
  #count = 0;

  constructor(width: number) {
    this.#sum = new Float64Array(width);
  }

  add(vector: Float32Array): void {
    for (let i = 0; i < vector.length; i += 1) this.#sum[i] = (this.#sum[i] ?? 0) + (vector[i] ?? 0);
    if (this.#some.length < COMPARED && this.#count % EVERY === 0) this.#some.push(vector.slice());
    this.#count += 1;
  }

  mean(): Float32Array {
    return Float32Array.from(this.#sum, (sum) => sum / Math.max(1, this.#count));
  }

  told(): string {
    const mean = this.mean();
    const centred = this.#some.map((vector) => vector.map((value, i) => value - (mean[i] ?? 0)));
    const shown = ({ average, deviation }: Cosines) => `${average.toFixed(3)} ± ${deviation.toFixed(3)}`;
    return `cosines ${shown(cosines(this.#some))}, centred ${shown(cosines(centred))}`;
  }
}

interface Cosines {
  readonly average: number;
  readonly deviation: number;
}

/** Mean and standard deviation of the cosines of all pairs. */
function cosines(vectors: readonly Float32Array[]): Cosines {
  let [sum, squares, pairs] = [0, 0, 0];
  const dot = (a: Float32Array, b: Float32Array) => a.reduce((total, value, at) => total + value * (b[at] ?? 0), 0);
  const norms = vectors.map((vector) => Math.sqrt(dot(vector, vector)));
  for (const [at, a] of vectors.entries()) {
    for (let other = 0; other < at; other += 1) {
      const b = vectors[other] ?? a;
      const cosine = dot(a, b) / ((norms[at] ?? 1) * (norms[other] ?? 1));
      sum += cosine;
      squares += cosine ** 2;
      pairs += 1;
    }
  }
  const average = sum / Math.max(1, pairs);
  return { average, deviation: Math.sqrt(Math.max(0, squares / Math.max(1, pairs) - average ** 2)) };
}
