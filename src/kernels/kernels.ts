/// <reference path="./web-assembly.d.ts" />
import { InternalError } from '../errors.js';
import type { Arena } from './arena.js';
import { advanceDropout, type DropoutState, quantizeDropoutRate } from './dropout-state.js';
import { KERNELS_WASM_BASE64 } from './generated.js';

/** The scalars of one AdamW step; see {@link Kernels.adamW}. */
export interface AdamWScalars {
  /** Multiplies every gradient first: clipping and the mean over accumulated batches. */
  readonly gradientScale: number;
  readonly beta1: number;
  readonly beta2: number;
  /** 1 − learning rate · weight decay. */
  readonly shrink: number;
  /** learning rate / (1 − beta1^t), t counting steps from 1. */
  readonly stepSize: number;
  /** 1 / √(1 − beta2^t). */
  readonly rootScale: number;
  readonly epsilon: number;
}

/** The arrays of one AdamW step, all of one length. */
export interface AdamWArrays {
  readonly weights: Float32Array;
  readonly gradients: Float32Array;
  readonly firstMoments: Float32Array;
  readonly secondMoments: Float32Array;
}

/** A one-vs-rest SVM under training; see {@link Kernels.svmPass}. All views lie in one arena. */
export interface SvmProblem {
  /** Columns of `weights` and `alphas`, a multiple of 4; unused ones at the end are allowed. */
  readonly outputs: number;
  /** Where each row's features start; one more entry at the end. [rows + 1] */
  readonly starts: Int32Array;
  /** Feature ids, each below the rows of `weights`, and the values beside them. [features of all rows] */
  readonly ids: Int32Array;
  readonly values: Float32Array;
  /** x·x of each row. [rows] */
  readonly squares: Float32Array;
  /** Where each row's active outputs start; one more entry at the end. [rows + 1] */
  readonly labelStarts: Int32Array;
  readonly labels: Int32Array;
  /** 1 / (2C) of each output where it is inactive, then where it is active. [2, outputs] */
  readonly slacks: Float32Array;
  /** [features, outputs] */
  readonly weights: Float32Array;
  /** Dual variables. [rows, outputs] */
  readonly alphas: Float32Array;
  /** [3, outputs] */
  readonly scratch: Float32Array;
}

/**
 * Loops over views of one arena as WebAssembly SIMD, single-threaded. Every method throws a RangeError, and writes
 * nothing, where a view lies outside the arena or lengths don't fit each other.
 */
export interface Kernels {
  /**
   * One AdamW step in place, all in f32 (Loshchilov & Hutter 2019, algorithm 2, with epsilon where PyTorch has it):
   * g = gradientScale · gradient, m = beta1 · m + (1 − beta1) · g, v = beta2 · v + (1 − beta2) · g²,
   * weight = shrink · weight − stepSize · m / (√v · rootScale + epsilon).
   */
  adamW(arrays: AdamWArrays, scalars: AdamWScalars): void;

  /** Σ values[i]². The squares are exact and the sum runs in f64. */
  sumOfSquares(values: Float32Array): number;

  /** target[i] += weight · addend[i], in f32. Default weight 1. */
  accumulate(target: Float32Array, addend: Float32Array, weight?: number): void;

  /** target[i] = value. */
  fill(target: Float32Array, value: number): void;

  /**
   * table[ids[i]] += rows[i], in the order of i; an id may come many times.
   * Shapes: table [any, width], ids [n], rows [n, width].
   */
  scatterAddRows(table: Float32Array, width: number, ids: Int32Array, rows: Float32Array): void;

  /** table[ids[i]] = 0: undoes `scatterAddRows` on a table that was zero before, without a pass over all of it. */
  zeroRows(table: Float32Array, width: number, ids: Int32Array): void;

  /**
   * Fills a mask with 0 (dropped) and 1 / (1 − rate) (kept), independently per element. The rate is rounded to a
   * multiple of 1/65,536, see {@link quantizeDropoutRate}. The same state gives the same mask.
   * @returns the state for the next mask.
   */
  dropoutMask(mask: Float32Array, rate: number, state: DropoutState): DropoutState;

  /**
   * One pass of dual coordinate descent over the rows in `order` (Hsieh et al. 2008), all outputs at once. Ids and
   * labels are trusted: whoever builds the problem keeps them in range.
   * @returns the largest violation of the optimality conditions met on the way.
   */
  svmPass(problem: SvmProblem, order: Int32Array): number;

  /**
   * sums[j] = Σᵢ values[i] · table[ids[i], j]. Shapes: table [any, width] of signed bytes, width a multiple of 4;
   * ids, values [n or more]; sums [width]. Ids are trusted.
   */
  sumByteRows(table: Int8Array, ids: Int32Array, values: Float32Array, n: number, sums: Float32Array): void;
}

/** The kernels over the memory of one arena. The module is compiled once per process (and per worker thread). */
export function loadKernels(arena: Arena): Kernels {
  const { exports } = new WebAssembly.Instance(compiledModule(), { env: { memory: arena.memory } });
  const adamW = exportedKernel(exports, 'adamW');
  const sumOfSquares = exportedKernel(exports, 'sumOfSquares');
  const accumulate = exportedKernel(exports, 'accumulate');
  const fill = exportedKernel(exports, 'fill');
  const scatterAddRows = exportedKernel(exports, 'scatterAddRows');
  const zeroRows = exportedKernel(exports, 'zeroRows');
  const dropoutMask = exportedKernel(exports, 'dropoutMask');
  const svmPass = exportedKernel(exports, 'svmPass');
  const sumByteRows = exportedKernel(exports, 'sumByteRows');

  return {
    adamW({ weights, gradients, firstMoments, secondMoments }, scalars) {
      const views = { weights, gradients, firstMoments, secondMoments };
      requireInside(arena, views);
      requireLength(weights.length, views);
      const { gradientScale, beta1, beta2, shrink, stepSize, rootScale, epsilon } = scalars;
      adamW(
        weights.byteOffset,
        gradients.byteOffset,
        firstMoments.byteOffset,
        secondMoments.byteOffset,
        weights.length,
        gradientScale,
        beta1,
        1 - beta1,
        beta2,
        1 - beta2,
        shrink,
        stepSize,
        rootScale,
        epsilon,
      );
    },

    sumOfSquares(values) {
      requireInside(arena, { values });
      return sumOfSquares(values.byteOffset, values.length);
    },

    accumulate(target, addend, weight = 1) {
      requireInside(arena, { target, addend });
      requireLength(target.length, { addend });
      accumulate(target.byteOffset, addend.byteOffset, target.length, weight);
    },

    fill(target, value) {
      requireInside(arena, { target });
      fill(target.byteOffset, target.length, value);
    },

    scatterAddRows(table, width, ids, rows) {
      requireInside(arena, { table, ids, rows });
      requireLength(ids.length * width, { rows });
      const tableRows = rowsOf(table, width);
      const { byteOffset, length } = ids;
      const wrong = scatterAddRows(table.byteOffset, tableRows, width, byteOffset, rows.byteOffset, length);
      requireKnownIds(wrong, ids, tableRows);
    },

    zeroRows(table, width, ids) {
      requireInside(arena, { table, ids });
      const tableRows = rowsOf(table, width);
      const wrong = zeroRows(table.byteOffset, tableRows, width, ids.byteOffset, ids.length);
      requireKnownIds(wrong, ids, tableRows);
    },

    dropoutMask(mask, rate, state) {
      requireInside(arena, { mask });
      const { threshold, kept } = quantizeDropoutRate(rate);
      dropoutMask(mask.byteOffset, mask.length, threshold, kept, state.seed, state.position);
      return advanceDropout(state, mask.length);
    },

    svmPass(problem, order) {
      const { outputs, starts, ids, values, squares, labelStarts, labels } = problem;
      const { slacks, weights, alphas, scratch } = problem;
      const rows = { starts, ids, values, squares, labelStarts, labels };
      requireInside(arena, { order, ...rows, slacks, weights, alphas, scratch });
      requireLength(squares.length + 1, { starts, labelStarts });
      requireLength(squares.length * outputs, { alphas });
      requireLength(outputs, { slacks: slacks.subarray(outputs), scratch: scratch.subarray(2 * outputs) });
      return svmPass(
        order.byteOffset,
        order.length,
        starts.byteOffset,
        ids.byteOffset,
        values.byteOffset,
        squares.byteOffset,
        labelStarts.byteOffset,
        labels.byteOffset,
        weights.byteOffset,
        outputs,
        slacks.byteOffset,
        alphas.byteOffset,
        scratch.byteOffset,
      );
    },

    sumByteRows(table, ids, values, n, sums) {
      requireInside(arena, { table, ids, values, sums });
      if (n > ids.length || n > values.length) throw new RangeError(`${n} values: there are fewer`);
      sumByteRows(table.byteOffset, sums.length, ids.byteOffset, values.byteOffset, n, sums.byteOffset);
    },
  };
}

type Kernel = (...values: number[]) => number;

let compiled: WebAssembly.Module | undefined;

function compiledModule(): WebAssembly.Module {
  compiled ??= new WebAssembly.Module(Buffer.from(KERNELS_WASM_BASE64, 'base64'));
  return compiled;
}

function exportedKernel(exports: Readonly<Record<string, unknown>>, name: string): Kernel {
  const value = exports[name];
  if (!isKernel(value)) throw new InternalError(`kernel ${name} is missing: run "npm run build:kernels"`);
  return value;
}

function isKernel(value: unknown): value is Kernel {
  return typeof value === 'function';
}

type NamedViews = Readonly<Record<string, Float32Array | Int32Array | Int8Array>>;

function requireInside(arena: Arena, views: NamedViews): void {
  for (const [name, view] of Object.entries(views)) {
    if (!arena.holds(view)) throw new RangeError(`${name}: not a view of this arena`);
  }
}

function requireLength(length: number, views: NamedViews): void {
  for (const [name, view] of Object.entries(views)) {
    if (view.length !== length) throw new RangeError(`${name}: ${view.length} elements, expected ${length}`);
  }
}

function rowsOf(table: Float32Array, width: number): number {
  const rows = table.length / width;
  if (!Number.isInteger(rows)) {
    throw new RangeError(`table: ${table.length} elements are no whole number of rows of ${width}`);
  }
  return rows;
}

/** @param wrong index of the first id outside the table, or -1. */
function requireKnownIds(wrong: number, ids: Int32Array, tableRows: number): void {
  if (wrong >= 0) {
    throw new RangeError(`ids[${wrong}] is ${ids[wrong]}: the table has rows 0 to ${tableRows - 1}`);
  }
}
