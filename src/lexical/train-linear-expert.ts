import { Arena, type Kernels, loadKernels, type SvmProblem } from '../engine/index.js';
import { pause, Random, type Steps, withPauses } from '../system/index.js';
import { paddedOutputs } from './expert-file.js';
import { withRoom } from './hash-table.js';
import { type LinearExpert, linearExpertOf } from './linear-expert.js';
import { fitTfIdf, isUnspaced, type NGramOptions, TfIdf } from './tf-idf.js';

interface LinearExpertOptions {
  readonly outputs: number;
  readonly lowercase: boolean;
  readonly seed: number;
  /** For each output. Default: 1 for all rows. */
  readonly classWeights?: readonly ClassWeights[];
  /** Whether each text is two that were joined. Default false. */
  readonly pairs?: boolean;
  readonly signal?: AbortSignal;
}

/** What the outputs of a text should be. */
export interface ExpertTarget {
  /** The outputs that should be on. */
  readonly active: readonly number[];
  /** How probable it is that each output should be on, 0 to 1, where that isn't certain. Default: as `active` says. [outputs] */
  readonly shares?: readonly number[] | undefined;
  /** How many times the text counts, above 0. Default 1. */
  readonly weight?: number | undefined;
}

/** UTF-16 code units; longer texts have enough words to do without characters (docs/lexical.md). */
const LONG_TEXT = 500;
const MAX_WEIGHTS = 2 ** 22;
const MIN_FEATURE_LIMIT = 2 ** 16;
const MAX_FEATURE_LIMIT = 2 ** 18;

const MAX_PASSES = 60;
/** LIBLINEAR's default for this solver. */
const TOLERANCE = 0.1;

/**
 * A one-vs-rest linear SVM. The same arguments give bit-identical weights. A text of weight w counts as w
 * copies. A text with shares counts, in each output, as one text for which the output is on and one for which it is off, weighted
 * by the shares: its squared hinge loss is the weighted mean of both.
 */
export async function trainLinearExpert(
  texts: readonly string[],
  targets: readonly ExpertTarget[],
  { outputs, lowercase, seed, classWeights = [], pairs = false, signal }: LinearExpertOptions,
): Promise<LinearExpert> {
  const nGrams = chooseNGrams(texts, lowercase, pairs);
  const counts = targets.some(({ weight }) => weight !== undefined)
    ? Float32Array.from(targets, ({ weight = 1 }) => weight)
    : undefined;
  const byFrequency = await withPauses(fitTfIdf(texts, nGrams, featureLimit(outputs), counts), signal);
  const weights = await withPauses(termWeights(byFrequency, texts, targets, outputs), signal);
  const tfIdf = new TfIdf(byFrequency.options, byFrequency.table.hashes(), weights);
  const rows = { ...svmTexts(texts, targets, outputs), outputs, classWeights };
  const { problem, order, kernels } = await withPauses(svmMemory(tfIdf, rows), signal);
  const random = Random.fromSeed(seed);
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    shuffleInPlace(order, random);
    if ((await pacedPass(kernels, problem, order, signal)) < TOLERANCE) break;
  }
  return linearExpertOf(tfIdf, problem.weights, outputs, paddedOutputs(outputs));
}

/** A few milliseconds. */
const WORK_A_TURN = 2 ** 22;

/** @returns the largest violation. */
async function pacedPass(
  kernels: Kernels,
  problem: SvmProblem,
  order: Int32Array,
  signal: AbortSignal | undefined,
): Promise<number> {
  const workOfRow = (problem.outputs * problem.ids.length) / Math.max(1, order.length);
  const rows = Math.max(1, Math.floor(WORK_A_TURN / Math.max(1, workOfRow)));
  let violation = 0;
  for (let first = 0; first < order.length; first += rows) {
    await pause(signal);
    violation = Math.max(violation, kernels.svmPass(problem, order.subarray(first, first + rows)));
  }
  return violation;
}

/** At most four of characters and two of words, or three of words alone. */
const NGRAMS_A_CHARACTER = 6;
/** Counts, weights, and twice the bytes of the expert. */
const BYTES_A_WEIGHT = 4 + 4 + 2;
/** Its id and value, and its count before features are chosen. */
const BYTES_AN_NGRAM = 16;

/** A rough upper bound. */
export function linearExpertBytes(rows: readonly { readonly text: string }[], outputs: number): number {
  const characters = rows.reduce((sum, { text }) => sum + text.length, 0);
  const nGrams = NGRAMS_A_CHARACTER * characters;
  const features = Math.min(featureLimit(outputs), nGrams);
  const ofRows = rows.length * (16 + 4 * paddedOutputs(outputs));
  return BYTES_A_WEIGHT * features * outputs + BYTES_AN_NGRAM * nGrams + ofRows;
}

function chooseNGrams(texts: readonly string[], lowercase: boolean, arePairs: boolean): NGramOptions {
  const read = { lowercase, ...(arePairs && { pairs: true }) };
  if (isUnspaced(texts)) return { ...read, words: false, characters: { shortest: 1, longest: 4 } };
  const length = texts.reduce((sum, text) => sum + text.length, 0) / Math.max(1, texts.length);
  return length > LONG_TEXT
    ? { ...read, words: true, triples: true, characters: null }
    : { ...read, words: true, characters: { shortest: 2, longest: 5 } };
}

/** Fewer if each has many weights, so that the file stays small. */
function featureLimit(outputs: number): number {
  return Math.min(MAX_FEATURE_LIMIT, Math.max(MIN_FEATURE_LIMIT, Math.floor(MAX_WEIGHTS / outputs)));
}

function shuffleInPlace(order: Int32Array, random: Random): void {
  for (let last = order.length - 1; last > 0; last -= 1) {
    const other = random.integer(last + 1);
    const kept = order[last] ?? 0;
    order[last] = order[other] ?? 0;
    order[other] = kept;
  }
}

/** Added to the counts of each label, so that no ratio is 0 or infinite. */
const SMOOTHING = 1;

/** √(idf · the largest |ln(p / q)| of any label), after Wang & Manning 2012; did best on dev (docs/lexical.md). */
export function* termWeights(
  tfIdf: TfIdf,
  texts: readonly string[],
  targets: readonly ExpertTarget[],
  outputs: number,
): Steps<Float32Array> {
  const inAll = new Float64Array(tfIdf.size);
  // Counts of rows are whole numbers far below 2²⁴, which float32 has exactly; those of weights are rounded.
  const inLabel = Array.from({ length: outputs }, () => new Float32Array(tfIdf.size));
  const rows = new Float64Array(outputs);
  let total = 0;
  for (const [row, text] of texts.entries()) {
    yield;
    const { ids } = tfIdf.vector(text);
    const { active = [], shares, weight = 1 } = targets[row] ?? {};
    total += weight;
    for (const id of ids) inAll[id] = (inAll[id] ?? 0) + weight;
    const on = shares ? [...shares.entries()] : active.map((output) => [output, 1] as const);
    for (const [output, share] of on) {
      const count = inLabel[output];
      if (count === undefined || share === 0) continue;
      rows[output] = (rows[output] ?? 0) + share * weight;
      for (const id of ids) count[id] = (count[id] ?? 0) + share * weight;
    }
  }
  const odds = new Float64Array(tfIdf.size);
  for (const [output, count] of inLabel.entries()) {
    yield;
    const own = rows[output] ?? 0;
    for (let id = 0; id < odds.length; id += 1) {
      const within = ((count[id] ?? 0) + SMOOTHING) / (own + 2 * SMOOTHING);
      // Rounding may make the difference smaller than 0.
      const elsewhere = Math.max(0, (inAll[id] ?? 0) - (count[id] ?? 0)) + SMOOTHING;
      const outside = elsewhere / (total - own + 2 * SMOOTHING);
      odds[id] = Math.max(odds[id] ?? 0, Math.abs(Math.log(within / outside)));
    }
  }
  return tfIdf.weights.map((idf, id) => Math.sqrt(idf * (odds[id] ?? 0)));
}

/** The cost of an error on rows where the output should be on, and where it should be off. */
export interface ClassWeights {
  readonly active: number;
  readonly inactive: number;
}

interface SvmTexts {
  readonly texts: readonly string[];
  readonly active: readonly (readonly number[])[];
  /** How much each text counts in each output. Default: 1. */
  readonly counts?: readonly (readonly number[])[] | undefined;
}

interface SvmRows extends SvmTexts {
  readonly outputs: number;
  readonly classWeights: readonly ClassWeights[];
}

/** Of a text with shares, one for which all outputs are on and one for which none is. */
export function svmTexts(texts: readonly string[], targets: readonly ExpertTarget[], outputs: number): SvmTexts {
  if (targets.every(({ weight, shares }) => weight === undefined && shares === undefined)) {
    return { texts, active: targets.map(({ active }) => active) };
  }
  const all = [...Array(outputs).keys()];
  const rows = targets.flatMap(({ active, shares, weight = 1 }, at) => {
    const text = texts[at] ?? '';
    if (shares === undefined) return [{ text, active, counts: all.map(() => weight) }];
    return [
      { text, active: all, counts: shares.map((share) => share * weight) },
      { text, active: [], counts: shares.map((share) => (1 - share) * weight) },
    ];
  });
  return {
    texts: rows.map(({ text }) => text),
    active: rows.map(({ active }) => active),
    counts: rows.map(({ counts }) => counts),
  };
}

export const SVM_C = 0.5;

interface SvmMemory {
  readonly problem: SvmProblem;
  readonly order: Int32Array;
  readonly kernels: Kernels;
}

/** The last feature, 1 in every row, is the bias; it is regularized like the others, as in LIBLINEAR. */
export function* svmMemory(tfIdf: TfIdf, rows: SvmRows): Steps<SvmMemory> {
  const vectors = yield* collectVectors(tfIdf, rows.texts);
  const labels = rows.active.flat();
  const count = rows.texts.length;
  const outputs = paddedOutputs(rows.outputs);
  const slacks = rows.counts ? rowSlacks(rows, rows.counts, outputs) : slacksOf(rows.classWeights, outputs);
  const features = tfIdf.size + 1;
  const sizes = {
    starts: count + 1,
    ids: vectors.ids.length,
    values: vectors.ids.length,
    squares: count,
    labelStarts: count + 1,
    labels: labels.length,
    slacks: rows.counts ? count * outputs : 2 * outputs,
    weights: features * outputs,
    alphas: count * outputs,
    scratch: 3 * outputs,
    order: count,
  };
  const arena = new Arena(Arena.bytesFor(Object.values(sizes)));
  const problem: SvmProblem = {
    outputs,
    starts: filled(arena.int32(sizes.starts), vectors.starts),
    ids: filled(arena.int32(sizes.ids), vectors.ids),
    values: filled(arena.float32(sizes.values), vectors.values),
    squares: filled(arena.float32(sizes.squares), vectors.squares),
    labelStarts: filled(arena.int32(sizes.labelStarts), runningTotals(rows.active.map((ids) => ids.length))),
    labels: filled(arena.int32(sizes.labels), labels),
    slacks: filled(arena.float32(sizes.slacks), slacks),
    perRow: rows.counts !== undefined,
    weights: arena.float32(sizes.weights),
    alphas: arena.float32(sizes.alphas),
    scratch: arena.float32(sizes.scratch),
  };
  return {
    problem,
    order: filled(arena.int32(sizes.order), [...rows.texts.keys()]),
    kernels: loadKernels(arena),
  };
}

function filled<T extends Int32Array | Float32Array>(view: T, values: ArrayLike<number>): T {
  view.set(values);
  return view;
}

function runningTotals(lengths: readonly number[]): Int32Array {
  const totals = new Int32Array(lengths.length + 1);
  for (const [index, length] of lengths.entries()) totals[index + 1] = (totals[index] ?? 0) + length;
  return totals;
}

function slacksOf(classWeights: readonly ClassWeights[], outputs: number): Float32Array {
  const slacks = new Float32Array(2 * outputs).fill(1 / (2 * SVM_C));
  for (const [output, { active, inactive }] of classWeights.entries()) {
    slacks[output] = 1 / (2 * SVM_C * inactive);
    slacks[outputs + output] = 1 / (2 * SVM_C * active);
  }
  return slacks;
}

/** 1 / (2C) of what doesn't count: its dual variable stays at 0, but for rounding. */
const NO_COST = 1e30;

/** [rows, outputs] */
function rowSlacks(
  { active, classWeights }: SvmRows,
  counts: readonly (readonly number[])[],
  outputs: number,
): Float32Array {
  const slacks = new Float32Array(active.length * outputs).fill(NO_COST);
  for (const [row, own] of counts.entries()) {
    for (const [output, count] of own.entries()) {
      const weights = classWeights[output];
      const weight = (active[row]?.includes(output) ? weights?.active : weights?.inactive) ?? 1;
      slacks[row * outputs + output] = Math.min(NO_COST, 1 / (2 * SVM_C * weight * count));
    }
  }
  return slacks;
}

interface Vectors {
  readonly starts: Int32Array;
  readonly ids: Int32Array;
  readonly values: Float32Array;
  readonly squares: Float32Array;
}

function* collectVectors(tfIdf: TfIdf, texts: readonly string[]): Steps<Vectors> {
  const starts = new Int32Array(texts.length + 1);
  const squares = new Float32Array(texts.length);
  let ids = new Int32Array(1 << 16);
  let values = new Float32Array(1 << 16);
  let end = 0;
  for (const [row, text] of texts.entries()) {
    yield;
    const vector = tfIdf.vector(text);
    const next = end + vector.ids.length + 1;
    ids = withRoom(ids, next);
    values = withRoom(values, next);
    ids.set(vector.ids, end);
    values.set(vector.values, end);
    ids[next - 1] = tfIdf.size;
    values[next - 1] = 1;
    squares[row] = values.subarray(end, next).reduce((sum, value) => sum + value * value, 0);
    end = next;
    starts[row + 1] = end;
  }
  return { starts, ids: ids.subarray(0, end), values: values.subarray(0, end), squares };
}
