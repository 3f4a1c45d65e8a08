import type { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import {
  AbortedError,
  callResult,
  type OrchardError,
  requireOptions,
  signalSchema,
  ValidationError,
  validate,
} from '../contract/index.js';
import { isQueries, type Queries } from '../inference/index.js';
import { listAsOfNow, mapSteps, type Random, type Steps, withPauses } from '../system/index.js';
import type { Answer } from './answers.js';
import type { Model } from './model.js';
import { encoderOf } from './open-model.js';

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
    signal: signalSchema.optional(),
  }),
);

/** Texts that are compared for each suggestion. Of more, as many are drawn at random: each takes a vector in memory. */
const COMPARED_EACH = 20;
const MIN_COMPARED = 2000;
const MAX_COMPARED = 20_000;
/** More take long to find, and differ little. */
const MAX_GROUPS = 200;
/** The weight of a text that the model is sure of, so that texts can be grouped if it is sure of all. */
const LEAST_WEIGHT = 1e-6;

/**
 * Suggests which of many unlabelled texts to label next, so that a model trained on them improves fastest. It puts the
 * texts into `count` groups of similar ones, by k-means with each text weighted by the model's uncertainty, and takes
 * the text nearest to the centre of each group (CLUE: Prabhu et al. 2021, "Active Domain Adaptation via Clustering
 * Uncertainty-weighted Embeddings", with the margin as uncertainty). So the texts are typical of what the model is
 * unsure of, and differ from each other. Duplicates are suggested once. If `count` is above 200, each group gives
 * several texts. Compares 20 texts per suggestion, but at least 2,000 and at most 20,000 in total; if more are
 * given, a random sample. The same texts and seed give the same suggestions.
 *
 * With two labels, suggested texts help no more than random ones (docs/labels.md).
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
  return callResult(suggest(model, listAsOfNow(texts), options), 'suggesting texts');
}

async function suggest(model: Model, texts: Queries, options: SuggestOptions): Promise<readonly SuggestedText[]> {
  const { count, seed, signal } = validate(
    optionsSchema,
    requireOptions(options ?? {}, '`suggestTexts(model, texts, { count })`'),
  );
  if (!isQueries(texts)) {
    const msg = 'give an array or an iterable of texts';
    throw new ValidationError([{ loc: ['texts'], msg, type: 'invalid_option' }]);
  }
  if (model.readsPairs) {
    const msg = `${model.name} reads pairs of texts; only single texts can be suggested`;
    throw new ValidationError([{ loc: ['model'], msg, type: 'unsupported' }]);
  }
  const { Random } = await import('../system/index.js'); // loaded on first use
  const random = Random.fromSeed(seed);
  const most = Math.min(MAX_COMPARED, Math.max(MIN_COMPARED, COMPARED_EACH * count));
  const sample = new TextSample(Math.max(count, most), random);
  await addAnswered(sample, model, texts, signal);
  const compared = sample.texts();
  const chosen = compared.length <= count ? compared : await mostCentral(model, compared, count, random, signal);
  return [...chosen].sort((a, b) => b.uncertainty - a.uncertainty || a.index - b.index);
}

async function addAnswered(
  sample: TextSample,
  model: Model,
  texts: Queries,
  signal: AbortSignal | undefined,
): Promise<void> {
  const isMultilabel = model.type === 'multilabel-text-classification';
  const waiting: { readonly text: string; readonly index: number }[] = [];
  async function* remembered() {
    let index = 0;
    for await (const text of texts) {
      // A blank text is nothing to label.
      if (typeof text !== 'string' || text.trim() !== '') {
        waiting.push({ text, index });
        yield text;
      }
      index += 1;
    }
  }
  for await (const answer of model.predict(remembered(), { signal })) {
    if (signal?.aborted) throw new AbortedError('suggesting texts', { cause: signal.reason });
    if (answer.isErr()) throw answer.error;
    const asked = waiting.shift();
    if (asked) sample.add({ ...asked, uncertainty: uncertaintyOf(answer.value, isMultilabel) });
  }
}

/** The centres of groups, by the vectors of the model's own encoder. */
async function mostCentral(
  model: Model,
  texts: readonly SuggestedText[],
  count: number,
  random: Random,
  signal: AbortSignal | undefined,
): Promise<readonly SuggestedText[]> {
  const service = { isolation: 'worker', runtime: model.runtime } as const;
  const encoder = await encoderOf(model, { service, signal });
  try {
    const vectors = await encoder.vectors(
      texts.map(({ text }) => text),
      { signal },
    );
    const uncertainties = texts.map(({ uncertainty }) => uncertainty);
    const chosen = await withPauses(centralTexts(vectors, uncertainties, count, random), signal);
    return chosen.flatMap((at) => texts.slice(at, at + 1));
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

interface DrawnText extends SuggestedText {
  /** The texts with the highest ones stay. */
  readonly draw: number;
}

/** A random sample of any number of texts, in bounded memory. Texts that differ only in case or spacing are duplicates. */
export class TextSample {
  readonly #most: number;
  readonly #random: Random;
  #kept: DrawnText[] = [];
  #keys = new Set<string>();

  constructor(most: number, random: Random) {
    this.#most = most;
    this.#random = random;
  }

  add(text: SuggestedText): void {
    const draw = this.#random.uniform();
    const key = keyOf(text.text);
    if (this.#keys.has(key)) return;
    this.#keys.add(key);
    this.#kept.push({ ...text, draw });
    if (this.#kept.length >= 2 * this.#most) this.#shrink();
  }

  /** In the order in which they came. */
  texts(): readonly SuggestedText[] {
    this.#shrink();
    return this.#kept
      .map(({ text, index, uncertainty }) => ({ text, index, uncertainty }))
      .sort((a, b) => a.index - b.index);
  }

  #shrink(): void {
    this.#kept = this.#kept.sort((a, b) => b.draw - a.draw).slice(0, this.#most);
    this.#keys = new Set(this.#kept.map(({ text }) => keyOf(text)));
  }
}

function keyOf(text: string): string {
  return text.toLowerCase().replace(/\s+/g, ' ').trim();
}

/**
 * Of each group of similar points the one nearest to its centre; then the second of each, the most uncertain first, until
 * there are enough.
 * @param vectors of unit length. [points, width]
 * @param uncertainties 0 to 1. [points]
 * @returns positions of the points
 */
export function* centralTexts(
  vectors: readonly Float32Array[],
  uncertainties: readonly number[],
  count: number,
  random: Random,
): Steps<number[]> {
  const weights = uncertainties.map((uncertainty) => Math.max(uncertainty, LEAST_WEIGHT));
  const groups = yield* groupsOf(vectors, weights, Math.min(count, MAX_GROUPS), random);
  const ranked = groups.flatMap((group) => group.map((at, rank) => ({ at, rank, weight: weights[at] ?? 0 })));
  ranked.sort((a, b) => a.rank - b.rank || b.weight - a.weight || a.at - b.at);
  return ranked.slice(0, count).map(({ at }) => at);
}

const MAX_ROUNDS = 20;

/**
 * Groups of similar points, by weighted k-means (Lloyd 1982) from centres that k-means++ draws (Arthur & Vassilvitskii 2007).
 * @param vectors of unit length. [points, width]
 * @param weights above 0. [points]
 * @returns positions of the points of each group, the nearest to its centre first; there may be fewer groups than asked for.
 */
export function* groupsOf(
  vectors: readonly Float32Array[],
  weights: readonly number[],
  count: number,
  random: Random,
): Steps<number[][]> {
  let centres = yield* firstCentres(vectors, weights, count, random);
  let nearest: readonly Nearest[] = [];
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const before = nearest;
    nearest = yield* mapSteps(vectors, (vector) => nearestOf(centres, vector));
    if (nearest.every(({ centre }, at) => centre === before[at]?.centre)) break;
    const sums = centres.map((centre) => new Float32Array(centre.length));
    for (const [at, vector] of vectors.entries()) {
      yield;
      addTo(sums[nearest[at]?.centre ?? 0], vector, weights[at] ?? 0);
    }
    // Of unit vectors, the nearest centre has the highest cosine with them if centres have unit length too.
    centres = sums.map((sum, group) => unitVector(sum) ?? centres[group] ?? sum);
  }
  const groups = centres.map((): (Nearest & { readonly at: number })[] => []);
  for (const [at, each] of nearest.entries()) groups[each.centre]?.push({ ...each, at });
  return groups
    .filter((group) => group.length > 0)
    .map((group) => group.sort((a, b) => b.similarity - a.similarity || a.at - b.at).map(({ at }) => at));
}

/** Each with a probability in proportion to its weight, and after the first to its squared distance to the nearest one. */
function* firstCentres(
  vectors: readonly Float32Array[],
  weights: readonly number[],
  count: number,
  random: Random,
): Steps<Float32Array[]> {
  const chances = Float64Array.from(weights);
  const centres: Float32Array[] = [];
  while (centres.length < count) {
    yield;
    const next = drawOne(chances, random);
    if (next === undefined) break;
    const centre = vectors[next] ?? new Float32Array();
    const isFirst = centres.length === 0;
    centres.push(centre);
    for (const [at, vector] of vectors.entries()) {
      const chance = (weights[at] ?? 0) * squaredDistance(vector, centre);
      chances[at] = isFirst ? chance : Math.min(chances[at] ?? 0, chance);
    }
  }
  return centres;
}

interface Nearest {
  /** Position among the centres. */
  readonly centre: number;
  /** Cosine with it. */
  readonly similarity: number;
}

function nearestOf(centres: readonly Float32Array[], vector: Float32Array): Nearest {
  let best: Nearest = { centre: 0, similarity: Number.NEGATIVE_INFINITY };
  for (const [centre, each] of centres.entries()) {
    const similarity = cosine(vector, each);
    if (similarity > best.similarity) best = { centre, similarity };
  }
  return best;
}

function addTo(sum: Float32Array | undefined, vector: Float32Array, weight: number): void {
  if (sum === undefined) return;
  for (let at = 0; at < vector.length; at += 1) sum[at] = (sum[at] ?? 0) + weight * (vector[at] ?? 0);
}

/** @returns undefined for a vector of zeros */
function unitVector(vector: Float32Array): Float32Array | undefined {
  const length = Math.sqrt(cosine(vector, vector));
  return length > 0 ? vector.map((value) => value / length) : undefined;
}

/** Of unit vectors. */
function cosine(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}

/** Unit vectors closer than this differ only by rounding. */
const SAME = 1e-6;

/** For unit vectors: 2 minus twice the cosine. */
function squaredDistance(a: Float32Array, b: Float32Array): number {
  const distance = 2 - 2 * cosine(a, b);
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
