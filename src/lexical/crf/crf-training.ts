import type { AdaGradArrays } from '../../kernels/index.js';
import type { Steps } from '../../pauses.js';
import type { Random } from '../../random.js';
import { type CrfMemory, FIRST_SQUARE } from './crf-memory.js';
import { dropHalf } from './feature-bags.js';
import { sentenceLoss } from './sentence-loss.js';
import type { TagTransitions } from './tag-lattice.js';

/** Step size of AdaGrad. */
const RATE = 0.2;
/**
 * Gradients of emissions below this (of 1 at most) are ignored: most words are certain after a pass or two.
 */
const IGNORED_GRADIENT = 1e-3;

/** Weights that are shrunk between two pauses. */
const WEIGHTS_A_STEP = 2 ** 16;

/**
 * Trains the weights with AdaGrad (Duchi et al. 2011), one step per sentence, on the negative log-likelihood.
 * Each feature is left out half of the time, so that affixes and context learn to do without the word itself
 * (Sutton et al. 2006, "Reducing weight undertraining in structured discriminative learning"). After each
 * pass the weights are shrunk.
 */
export class CrfTraining {
  readonly transitions: TagTransitions;
  readonly #start: AdaGradArrays;
  readonly #between: AdaGradArrays;
  readonly #memory: CrfMemory;
  readonly #tags: number;
  readonly #random: Random;

  constructor(memory: CrfMemory, tags: number, random: Random) {
    this.#memory = memory;
    this.#tags = tags;
    this.#random = random;
    this.#start = zeroArrays(tags);
    this.#between = zeroArrays(tags * tags);
    this.transitions = { start: this.#start.table, between: this.#between.table };
  }

  /**
   * Takes a step on one sentence.
   * @param firstWord where its words start among the bags.
   * @param tags one for each of its words, and at least one.
   */
  learn(firstWord: number, tags: readonly number[]): void {
    const { arrays, bags, keptBags, kernels, width } = this.#memory;
    const starts = bags.starts.subarray(firstWord, firstWord + tags.length + 1);
    const kept = dropHalf({ ids: bags.ids, starts }, keptBags, this.#random);
    const scores = arrays.gradients.subarray(0, tags.length * width);
    kernels.sumRows(arrays.table, kept, scores);
    const loss = sentenceLoss(this.#unpadded(scores), this.transitions, tags);
    this.#pad(loss.emissions, scores);
    kernels.adaGradRows({ ...arrays, gradients: scores }, kept, { rate: RATE, ignored: IGNORED_GRADIENT });
    step(this.#start, loss.transitions.start);
    step(this.#between, loss.transitions.between);
  }

  /**
   * Pulls all weights towards 0: the proximal step of `strength` / 2 · Σ weight², each weight at its own
   * rate.
   */
  *shrinking(strength: number): Steps<void> {
    for (const { table, squares } of [this.#memory.arrays, this.#start, this.#between]) {
      for (let at = 0; at < table.length; at += 1) {
        if (at % WEIGHTS_A_STEP === 0) yield;
        table[at] = (table[at] ?? 0) / (1 + (RATE * strength) / Math.sqrt(squares[at] ?? 1));
      }
    }
  }

  /** [words, width] as [words, tags]. */
  #unpadded(scores: Float32Array): Float32Array {
    const tags = this.#tags;
    const { width } = this.#memory;
    const emissions = new Float32Array((scores.length / width) * tags);
    for (let from = 0, to = 0; to < emissions.length; from += width, to += tags) {
      emissions.set(scores.subarray(from, from + tags), to);
    }
    return emissions;
  }

  /** [words, tags] as [words, width], with zeros. */
  #pad(gradients: Float32Array, padded: Float32Array): void {
    const tags = this.#tags;
    padded.fill(0);
    for (let from = 0, to = 0; from < gradients.length; from += tags, to += this.#memory.width) {
      padded.set(gradients.subarray(from, from + tags), to);
    }
  }
}

function zeroArrays(length: number): AdaGradArrays {
  return {
    table: new Float32Array(length),
    squares: new Float32Array(length).fill(FIRST_SQUARE),
    gradients: new Float32Array(0),
  };
}

/** The same step as the kernel's, for arrays outside the arena. */
function step({ table, squares }: AdaGradArrays, gradients: Float32Array): void {
  for (const [at, gradient] of gradients.entries()) {
    const square = (squares[at] ?? 0) + gradient * gradient;
    squares[at] = square;
    table[at] = (table[at] ?? 0) - (RATE * gradient) / Math.sqrt(square);
  }
}
