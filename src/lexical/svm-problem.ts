import { Arena, type Kernels, loadKernels, type SvmProblem } from '../kernels/index.js';
import type { Steps } from '../pauses.js';
import { paddedOutputs } from './padded-rows.js';
import type { TfIdf } from './tf-idf.js';

/**
 * How much an error costs for one output, on rows where it should be on and where it should be off. Usually
 * 1.
 */
export interface ClassWeights {
  readonly active: number;
  readonly inactive: number;
}

export interface SvmRows {
  readonly texts: readonly string[];
  /** For each text, the outputs that should be on. */
  readonly active: readonly (readonly number[])[];
  readonly outputs: number;
  /** For each output. */
  readonly classWeights: readonly ClassWeights[];
}

/** Inverse strength of the L2 regularisation. */
export const SVM_C = 0.5;

/** Rows and variables of a training run in one arena, with the kernels over it. */
export interface SvmMemory {
  readonly problem: SvmProblem;
  readonly order: Int32Array;
  readonly kernels: Kernels;
}

/**
 * Lays out rows and variables for the kernels. The last feature, 1 in every row, is the bias; it is
 * regularised like the others, as in LIBLINEAR.
 */
export function* svmMemory(tfIdf: TfIdf, rows: SvmRows): Steps<SvmMemory> {
  const vectors = yield* collectVectors(tfIdf, rows.texts);
  const labels = rows.active.flat();
  const count = rows.texts.length;
  const outputs = paddedOutputs(rows.outputs);
  const features = tfIdf.size + 1;
  const sizes = {
    starts: count + 1,
    ids: vectors.ids.length,
    values: vectors.ids.length,
    squares: count,
    labelStarts: count + 1,
    labels: labels.length,
    slacks: 2 * outputs,
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
    slacks: filled(arena.float32(sizes.slacks), slacksOf(rows.classWeights, outputs)),
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
    if (next > ids.length) {
      ids = resized(ids, 2 * next);
      values = resized(values, 2 * next);
    }
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

function resized<T extends Int32Array | Float32Array>(array: T, length: number): T;
function resized(array: Int32Array | Float32Array, length: number): Int32Array | Float32Array {
  const larger = array instanceof Int32Array ? new Int32Array(length) : new Float32Array(length);
  larger.set(array);
  return larger;
}
