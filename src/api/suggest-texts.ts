import { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import { AbortedError, type OrchardError, toOrchardError, ValidationError, validate } from '../contract/index.js';
import { isQueries, type Queries } from '../inference/index.js';
import { SentenceEncoder } from '../search/index.js';
import { type Random, type Steps, withPauses } from '../system/index.js';
import type { Answer } from './answers.js';
import type { Model } from './model.js';

/** `suggestTexts`: the unlabelled texts that are most worth labelling next. */

/** A text to label next. */
export interface SuggestedText {
  readonly text: string;
  /** Its position among the given texts, from 0. */
  readonly index: number;
  /** How unsure the model is of its answer, 0 to 1. */
  readonly uncertainty: number;
}

/** Options of {@link suggestTexts}. */
export interface SuggestOptions {
  /** Number of texts to suggest, 1 to 10,000. Default 20. */
  readonly count?: number | undefined;
  /** Seed of the random choices. Default 0. */
  readonly seed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const optionsSchema = z.lazy(() =>
  z.strictObject({
    count: z.int().min(1).max(10_000).default(20),
    seed: z.int32().default(0),
    signal: z.instanceof(AbortSignal).optional(),
  }),
);

/** Candidates for each suggestion; the most different ones are chosen from these (docs/tuning.md). */
const CANDIDATES_EACH = 10;
/** Fewer candidates differ too little; each one takes a vector in memory. */
const MIN_CANDIDATES = 200;
const MAX_CANDIDATES = 20_000;
/** The weight of a text that the model is sure of: it is drawn only if there are no others. */
const MIN_WEIGHT = 1e-6;

/**
 * Suggests which of many unlabelled texts to label next, so that a model trained on them improves fastest: texts that the
 * model is unsure of and that differ from each other. Duplicates are suggested once. Memory is bounded by `count`, and the
 * same texts and seed give the same suggestions.
 *
 * Fails with a ValidationError, an AbortedError, or any error of `model.predict`.
 * @param texts read once, as fast as they are answered; at most 100,000 UTF-16 code units each.
 * @returns `count` texts, or all different texts if there are fewer, the most uncertain first.
 */
export function suggestTexts(
  model: Model,
  texts: Iterable<string> | AsyncIterable<string>,
  options: SuggestOptions = {},
): ResultAsync<readonly SuggestedText[], OrchardError> {
  return ResultAsync.fromPromise(suggest(model, texts, options), (thrown) =>
    toOrchardError(thrown, 'suggesting texts'),
  );
}

async function suggest(model: Model, texts: Queries, options: SuggestOptions): Promise<readonly SuggestedText[]> {
  const { count, seed, signal } = validate(optionsSchema, options ?? {});
  if (!isQueries(texts)) {
    const msg = 'give an array or an iterable of texts';
    throw new ValidationError([{ loc: ['texts'], msg, type: 'invalid_option' }]);
  }
  const { Random } = await import('../system/index.js'); // loaded on first use
  const random = Random.fromSeed(seed);
  const wanted = Math.min(MAX_CANDIDATES, Math.max(MIN_CANDIDATES, CANDIDATES_EACH * count));
  const candidates = new Candidates(Math.max(count, wanted), random);
  await addUncertain(candidates, model, texts, signal);
  const best = candidates.best();
  const chosen = best.length <= count ? best : await different(model, best, count, random, signal);
  return [...chosen].sort((a, b) => b.uncertainty - a.uncertainty || a.index - b.index);
}

async function addUncertain(
  candidates: Candidates,
  model: Model,
  texts: Queries,
  signal: AbortSignal | undefined,
): Promise<void> {
  const isMultilabel = model.type === 'multilabel-text-classification';
  const waiting: string[] = [];
  async function* remembered() {
    for await (const text of texts) {
      waiting.push(text);
      yield text;
    }
  }
  let index = 0;
  for await (const answer of model.predict(remembered(), { signal })) {
    if (signal?.aborted) throw new AbortedError('suggesting texts', { cause: signal.reason });
    if (answer.isErr()) throw answer.error;
    const text = waiting.shift() ?? '';
    candidates.add({ text, index, uncertainty: uncertaintyOf(answer.value, isMultilabel) });
    index += 1;
  }
}

/** Texts that differ from each other, by the vectors of the model's own encoder. */
async function different(
  { name, directory }: Model,
  candidates: readonly SuggestedText[],
  count: number,
  random: Random,
  signal: AbortSignal | undefined,
): Promise<readonly SuggestedText[]> {
  const encoder = await SentenceEncoder.ofModel({ name, directory }, { service: {}, signal });
  try {
    const texts = candidates.map(({ text }) => text);
    const vectors = await encoder.vectors(texts, { signal });
    const weights = candidates.map(({ uncertainty }) => Math.max(uncertainty, MIN_WEIGHT));
    const drawn = await withPauses(spreadOut(vectors, weights, count, random), signal);
    return drawn.flatMap((at) => candidates.slice(at, at + 1));
  } finally {
    await encoder.close();
  }
}

/**
 * How unsure a model is of an answer, 0 (sure) to 1 (Settles 2009, sections 3.1 and 3.2).
 *
 * - One label, or passages: 1 minus the margin between the two most probable ones (Scheffer et al. 2001).
 * - Several labels: for the label closest to one half, 1 minus twice its distance from one half.
 * - Entities: 1 minus the product of their scores. A text without entities counts as sure, since nothing tells how close
 *   the model came to finding one.
 */
export function uncertaintyOf(answer: Answer, isMultilabel: boolean): number {
  if (answer.kind === 'entities') {
    return 1 - answer.entities.reduce((product, { score }) => product * score, 1);
  }
  const scores = (answer.kind === 'labels' ? answer.scores : answer.passages).map(({ score }) => score);
  if (isMultilabel) return Math.max(0, ...scores.map((score) => 1 - Math.abs(2 * score - 1)));
  const [first = 1, second = 0] = scores.sort((a, b) => b - a);
  return 1 - (first - second);
}

interface Ranked extends SuggestedText {
  /** Breaks ties between equally uncertain texts. */
  readonly tiebreak: number;
}

/** The most uncertain of any number of texts, in bounded memory. Texts that differ only in case or spacing are duplicates. */
export class Candidates {
  readonly #most: number;
  readonly #random: Random;
  #kept: Ranked[] = [];
  #keys = new Set<string>();

  constructor(most: number, random: Random) {
    this.#most = most;
    this.#random = random;
  }

  add(candidate: SuggestedText): void {
    const tiebreak = this.#random.uniform();
    const key = keyOf(candidate.text);
    if (this.#keys.has(key)) return;
    this.#keys.add(key);
    this.#kept.push({ ...candidate, tiebreak });
    if (this.#kept.length >= 2 * this.#most) this.#shrink();
  }

  /** The most uncertain first. */
  best(): readonly SuggestedText[] {
    this.#shrink();
    return this.#kept.map(({ text, index, uncertainty }) => ({ text, index, uncertainty }));
  }

  #shrink(): void {
    this.#kept.sort((a, b) => b.uncertainty - a.uncertainty || b.tiebreak - a.tiebreak);
    this.#kept = this.#kept.slice(0, this.#most);
    this.#keys = new Set(this.#kept.map(({ text }) => keyOf(text)));
  }
}

function keyOf(text: string): string {
  return text.toLowerCase().replace(/\s+/g, ' ').trim();
}

/**
 * Draws points that are spread out: each one with a probability in proportion to its weight times the squared distance to
 * the nearest drawn point (k-means++: Arthur & Vassilvitskii 2007; with uncertainties as weights, as in BADGE: Ash et al.
 * 2020). The first is the heaviest. Duplicates of drawn points come last.
 * @param vectors of unit length. [points, width]
 * @param weights at least 0. [points]
 * @returns the positions of the points, in the order of the draws.
 */
export function* spreadOut(
  vectors: readonly Float32Array[],
  weights: readonly number[],
  count: number,
  random: Random,
): Steps<number[]> {
  const distances = new Float64Array(vectors.length).fill(Number.POSITIVE_INFINITY);
  const isDrawn = new Uint8Array(vectors.length);
  const drawn: number[] = [];
  const most = Math.min(count, vectors.length);
  let next = weights.reduce((best, weight, at) => (weight > (weights[best] ?? 0) ? at : best), 0);
  while (drawn.length < most) {
    yield;
    drawn.push(next);
    isDrawn[next] = 1;
    const center = vectors[next] ?? new Float32Array();
    for (const [at, vector] of vectors.entries()) {
      distances[at] = Math.min(distances[at] ?? 0, squaredDistance(vector, center));
    }
    const chances = Float64Array.from(distances, (distance, at) =>
      isDrawn[at] === 1 ? 0 : (weights[at] ?? 0) * distance,
    );
    next = drawOne(chances, random) ?? isDrawn.indexOf(0);
  }
  return drawn;
}

/** Unit vectors closer than this differ only by rounding. */
const SAME = 1e-6;

/** For unit vectors: 2 minus twice the cosine. */
function squaredDistance(a: Float32Array, b: Float32Array): number {
  let cosine = 0;
  for (let at = 0; at < a.length; at += 1) cosine += (a[at] ?? 0) * (b[at] ?? 0);
  const distance = 2 - 2 * cosine;
  return distance < SAME ? 0 : distance;
}

/** Draws a position in proportion to its chance; undefined if all chances are 0. */
function drawOne(chances: Float64Array, random: Random): number | undefined {
  const total = chances.reduce((sum, chance) => sum + chance, 0);
  if (!(total > 0)) return undefined;
  let left = random.uniform() * total;
  let last: number | undefined;
  for (const [at, chance] of chances.entries()) {
    if (chance === 0) continue;
    last = at;
    left -= chance;
    if (left < 0) return at;
  }
  return last;
}
