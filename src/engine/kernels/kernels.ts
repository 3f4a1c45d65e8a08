import {
  type AnswerKernels,
  type IdBags,
  instantiate,
  loadAnswerKernels,
  onViews,
  requireInside,
  requireKernel,
  requireLength,
} from './answer-kernels.js';
import type { Arena } from './arena.js';

/** Draws in a random group. A mask uses whole groups, so that no draw is used twice. */
const GROUP = 32;

/** Dropout rates are multiples of 1 / this: a draw has 16 bits. */
const LEVELS = 65_536;

/** Position in the stream of dropout draws, which is all that a checkpoint needs of it. */
export interface DropoutState {
  /** Whole number from 0 to 2^32 − 1. */
  readonly seed: number;
  /** Groups of 32 draws already used. */
  readonly position: number;
}

/** The state after a mask of `count` elements. */
function advanceDropout(state: DropoutState, count: number): DropoutState {
  return { seed: state.seed, position: state.position + Math.ceil(count / GROUP) };
}

/**
 * A dropout rate as the kernel applies it. An element is dropped if its 16-bit draw is below `threshold`: the chance of
 * that is threshold / 65,536, the multiple of 1 / 65,536 nearest to the rate. Elements that are kept become `kept`, the
 * reciprocal of their chance to be kept, so that a mask's expected value is exactly 1 (but for rounding to f32).
 * @throws RangeError unless 0 ≤ rate < 1 once rounded.
 */
export function quantizeDropoutRate(rate: number): { threshold: number; kept: number } {
  const threshold = Math.round(rate * LEVELS);
  if (!(threshold >= 0 && threshold < LEVELS)) {
    throw new RangeError(`dropout rate ${rate}: it must be at least 0 and below 1`);
  }
  return { threshold, kept: LEVELS / (LEVELS - threshold) };
}

interface AdamWScalars {
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

export interface AdamWArrays {
  readonly weights: Float32Array;
  readonly gradients: Float32Array;
  readonly firstMoments: Float32Array;
  readonly secondMoments: Float32Array;
}

/** A one-vs-rest SVM under training; a kernel of {@link Kernels}. All views lie in one arena. */
export interface SvmProblem {
  /** Columns of `weights` and `alphas`, a multiple of 4; unused ones at the end are allowed. */
  readonly outputs: number;
  /** Where each row's features start; one more entry at the end. [rows + 1] */
  readonly starts: Int32Array;
  /** Feature ids, each below the rows of `weights`, and their values. [features of all rows] */
  readonly ids: Int32Array;
  readonly values: Float32Array;
  /** x·x of each row. [rows] */
  readonly squares: Float32Array;
  /** Where each row's active outputs start; one more entry at the end. [rows + 1] */
  readonly labelStarts: Int32Array;
  readonly labels: Int32Array;
  /** 1 / (2C) of each output: first for rows where it is inactive, then for rows where it is active. [2, outputs] */
  readonly slacks: Float32Array;
  /** Whether `slacks` are those of each row instead, [rows, outputs]. Default false. */
  readonly perRow?: boolean;
  /** [features, outputs] */
  readonly weights: Float32Array;
  /** Dual variables. [rows, outputs] */
  readonly alphas: Float32Array;
  /** [3, outputs] */
  readonly scratch: Float32Array;
}

export interface AdaGradArrays {
  readonly table: Float32Array;
  /** Sums of squared gradients, above 0. */
  readonly squares: Float32Array;
  readonly gradients: Float32Array;
}

export type Kernels = ReturnType<typeof loadKernels>;

/** The kernels of {@link AnswerKernels} and those that training needs, which check what they are given in the same way. */
export function loadKernels(arena: Arena) {
  const exports = instantiate(arena);
  const exported = (name: string) => onViews(requireKernel(exports, name));
  const adamW = exported('adamW');
  const sumOfSquares = exported('sumOfSquares');
  const accumulate = exported('accumulate');
  const fill = exported('fill');
  const scatterAddRows = exported('scatterAddRows');
  const zeroRows = exported('zeroRows');
  const dropoutMask = exported('dropoutMask');
  const svmPass = exported('svmPass');
  const sumRows = exported('sumRows');
  const adaGradRows = exported('adaGradRows');

  return {
    ...loadAnswerKernels(arena, exports),

    /** One AdamW step in place; assembly/adamw.ts has the formulas. */
    adamW(
      { weights, gradients, firstMoments, secondMoments }: AdamWArrays,
      { gradientScale, beta1, beta2, shrink, stepSize, rootScale, epsilon }: AdamWScalars,
    ): void {
      const views = { weights, gradients, firstMoments, secondMoments };
      const { length } = weights;
      requireInside(arena, views);
      requireLength(length, views);
      const decays = [beta1, 1 - beta1, beta2, 1 - beta2];
      const others = [shrink, stepSize, rootScale, epsilon];
      adamW(weights, gradients, firstMoments, secondMoments, length, gradientScale, ...decays, ...others);
    },

    /** Σ values[i]². The squares are exact and the sum runs in f64. */
    sumOfSquares(values: Float32Array): number {
      requireInside(arena, { values });
      return sumOfSquares(values, values.length);
    },

    /** target[i] += weight · addend[i], in f32. */
    accumulate(target: Float32Array, addend: Float32Array, weight = 1): void {
      requireInside(arena, { target, addend });
      requireLength(target.length, { addend });
      accumulate(target, addend, target.length, weight);
    },

    fill(target: Float32Array, value: number): void {
      requireInside(arena, { target });
      fill(target, target.length, value);
    },

    /** table[ids[i]] += rows[i], in the order of i. Shapes: table [any, width], ids [n], rows [n, width]. */
    scatterAddRows(table: Float32Array, width: number, ids: Int32Array, rows: Float32Array): void {
      requireInside(arena, { table, ids, rows });
      requireLength(ids.length * width, { rows });
      const tableRows = rowsOf(table, width);
      requireKnownIds(scatterAddRows(table, tableRows, width, ids, rows, ids.length), ids, tableRows);
    },

    /** table[ids[i]] = 0: undoes `scatterAddRows` on a table that was zero before, without a pass over all of it. */
    zeroRows(table: Float32Array, width: number, ids: Int32Array): void {
      requireInside(arena, { table, ids });
      const tableRows = rowsOf(table, width);
      requireKnownIds(zeroRows(table, tableRows, width, ids, ids.length), ids, tableRows);
    },

    /** Fills a mask with 0 (dropped) and 1 / (1 − rate), the rate quantized. @returns the state for the next mask. */
    dropoutMask(mask: Float32Array, rate: number, state: DropoutState): DropoutState {
      requireInside(arena, { mask });
      const { threshold, kept } = quantizeDropoutRate(rate);
      dropoutMask(mask, mask.length, threshold, kept, state.seed, state.position);
      return advanceDropout(state, mask.length);
    },

    /** A pass over rows (Hsieh et al. 2008); ids are not checked. @returns the largest violation of optimality. */
    svmPass(problem: SvmProblem, order: Int32Array): number {
      const { outputs, starts, ids, values, squares, labelStarts, labels } = problem;
      const { slacks, perRow = false, weights, alphas, scratch } = problem;
      const rows = { starts, ids, values, squares, labelStarts, labels };
      requireInside(arena, { order, ...rows, slacks, weights, alphas, scratch });
      requireLength(squares.length + 1, { starts, labelStarts });
      requireLength(squares.length * outputs, { alphas });
      if (perRow) requireLength(squares.length * outputs, { slacks });
      else requireLength(outputs, { slacks: slacks.subarray(outputs) });
      requireLength(outputs, { scratch: scratch.subarray(2 * outputs) });
      const given = [starts, ids, values, squares, labelStarts, labels];
      return svmPass(order, order.length, ...given, weights, outputs, slacks, Number(perRow), alphas, scratch);
    },

    /** sums[b] = the sum of the table's rows in bag b; width a multiple of 4. Ids are not checked. */
    sumRows(table: Float32Array, { ids, starts }: IdBags, sums: Float32Array): void {
      requireInside(arena, { table, ids, starts, sums });
      const bags = starts.length - 1;
      sumRows(table, widthOfBags(bags, sums), ids, starts, bags, sums);
    },

    /** One AdaGrad step on the rows of each bag; see assembly/adagrad-rows.ts. Ids are not checked. */
    adaGradRows(
      { table, squares, gradients }: AdaGradArrays,
      { ids, starts }: IdBags,
      { rate, ignored }: { rate: number; ignored: number },
    ): void {
      requireInside(arena, { table, squares, gradients, ids, starts });
      requireLength(table.length, { squares });
      const bags = starts.length - 1;
      adaGradRows(table, squares, widthOfBags(bags, gradients), ids, starts, bags, gradients, rate, ignored);
    },
  };
}

function widthOfBags(bags: number, values: Float32Array): number {
  const width = bags === 0 ? 0 : values.length / bags;
  if (width % 4 !== 0) {
    throw new RangeError(`${values.length} elements are not ${bags} rows whose width is a multiple of 4`);
  }
  return width;
}

function rowsOf(table: Float32Array, width: number): number {
  const rows = table.length / width;
  if (!Number.isInteger(rows)) {
    throw new RangeError(`table: ${table.length} elements are not a whole number of rows of ${width}`);
  }
  return rows;
}

/** @param wrong index of the first id outside the table, or -1. */
function requireKnownIds(wrong: number, ids: Int32Array, tableRows: number): void {
  if (wrong >= 0) {
    throw new RangeError(`ids[${wrong}] is ${ids[wrong]}: the table has rows 0 to ${tableRows - 1}`);
  }
}
