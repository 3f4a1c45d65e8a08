/// <reference path="./web-assembly.d.ts" />
import { InternalError } from '../errors.js';
import type { Arena } from './arena.js';
import {
  requireInside,
  requireKnownIds,
  requireLength,
  requireWidth,
  rowsOf,
  widthOfBags,
} from './check-views.js';
import { advanceDropout, type DropoutState, quantizeDropoutRate } from './dropout-state.js';
import { KERNELS_WASM_BASE64 } from './generated.js';
import type { AdaGradArrays, AdamWArrays, AdamWScalars, IdBags, SvmProblem } from './kernel-arguments.js';

/**
 * Loops over views of one arena, in single-threaded WebAssembly SIMD. Every method throws a RangeError and
 * writes nothing if a view lies outside the arena or lengths don't match.
 */
export interface Kernels {
  /**
   * One AdamW step in place, all in f32 (Loshchilov & Hutter 2019, algorithm 2, with epsilon where PyTorch
   * has it): g = gradientScale · gradient, m = beta1 · m + (1 − beta1) · g, v = beta2 · v + (1 − beta2) · g²,
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
   * table[ids[i]] += rows[i], in the order of i; an id may occur several times.
   * Shapes: table [any, width], ids [n], rows [n, width].
   */
  scatterAddRows(table: Float32Array, width: number, ids: Int32Array, rows: Float32Array): void;

  /**
   * table[ids[i]] = 0: undoes `scatterAddRows` on a table that was zero before, without a pass over all of
   * it.
   */
  zeroRows(table: Float32Array, width: number, ids: Int32Array): void;

  /**
   * Fills a mask with 0 (dropped) and 1 / (1 − rate) (kept), independently per element. The rate is rounded
   * to a multiple of 1/65,536, see {@link quantizeDropoutRate}. The same state gives the same mask.
   * @returns the state for the next mask.
   */
  dropoutMask(mask: Float32Array, rate: number, state: DropoutState): DropoutState;

  /**
   * One pass of dual coordinate descent over the rows in `order` (Hsieh et al. 2008), all outputs at once.
   * Ids and labels are not checked: whoever builds the problem keeps them in range.
   * @returns the largest violation of the optimality conditions met on the way.
   */
  svmPass(problem: SvmProblem, order: Int32Array): number;

  /**
   * sums[b, j] = Σᵢ values[i] · table[ids[i], j] over the entries i of bag b.
   * Shapes: table [any, width] of signed bytes, width a multiple of 4; values [entries or more]; sums [bags,
   * width]. Ids are not checked.
   */
  sumByteRows(table: Int8Array, bags: IdBags, values: Float32Array, sums: Float32Array): void;

  /**
   * scores[i] = scales[i] · Σⱼ codes[i, j] · query[j]. The sums are whole numbers and must stay below 2³¹.
   * Shapes: codes [n, width], query [width] with width a multiple of 16; scales, scores [n].
   */
  dotByteRows(codes: Int8Array, scales: Float32Array, query: Int16Array, scores: Float32Array): void;

  /**
   * scores[i] = Σⱼ table[ids[i], j] · query[j], in f32.
   * Shapes: table [any, width], query [width] with width a multiple of 16; ids, scores [n]. Ids are not
   * checked.
   */
  dotRows(table: Float32Array, ids: Int32Array, query: Float32Array, scores: Float32Array): void;

  /**
   * sums[b] = the sum of the table's rows in bag b.
   * Shapes: table [any, width], sums [bags, width], width a multiple of 4. Ids are not checked.
   */
  sumRows(table: Float32Array, bags: IdBags, sums: Float32Array): void;

  /**
   * One AdaGrad step (Duchi et al. 2011) on the rows of each bag, all of which have the bag's gradient g:
   * square += g², weight −= rate · g / √square; groups of four columns in which no |g| is above `ignored` are
   * skipped.
   * Shapes: table, squares [any, width], gradients [bags, width], width a multiple of 4. Ids are not checked.
   */
  adaGradRows(arrays: AdaGradArrays, bags: IdBags, scalars: { rate: number; ignored: number }): void;
}

/**
 * The kernels over the memory of one arena. The module is compiled once per process (and per worker thread).
 */
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
  const dotByteRows = exportedKernel(exports, 'dotByteRows');
  const dotRows = exportedKernel(exports, 'dotRows');
  const sumRows = exportedKernel(exports, 'sumRows');
  const adaGradRows = exportedKernel(exports, 'adaGradRows');

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

    sumByteRows(table, { ids, starts }, values, sums) {
      requireInside(arena, { table, ids, starts, values, sums });
      const bags = starts.length - 1;
      const entries = starts[bags] ?? 0;
      if (entries > Math.min(ids.length, values.length)) {
        throw new RangeError(`bags of ${entries} entries: there are fewer ids or values`);
      }
      sumByteRows(
        table.byteOffset,
        widthOfBags(bags, sums),
        ids.byteOffset,
        starts.byteOffset,
        bags,
        values.byteOffset,
        sums.byteOffset,
      );
    },

    dotByteRows(codes, scales, query, scores) {
      requireInside(arena, { codes, scales, query, scores });
      requireWidth(query.length);
      requireLength(scores.length, { scales });
      requireLength(scores.length * query.length, { codes });
      dotByteRows(
        codes.byteOffset,
        query.length,
        scores.length,
        scales.byteOffset,
        query.byteOffset,
        scores.byteOffset,
      );
    },

    dotRows(table, ids, query, scores) {
      requireInside(arena, { table, ids, query, scores });
      requireWidth(query.length);
      requireLength(scores.length, { ids });
      const { byteOffset, length } = ids;
      dotRows(table.byteOffset, query.length, byteOffset, length, query.byteOffset, scores.byteOffset);
    },

    sumRows(table, { ids, starts }, sums) {
      requireInside(arena, { table, ids, starts, sums });
      const bags = starts.length - 1;
      const width = widthOfBags(bags, sums);
      sumRows(table.byteOffset, width, ids.byteOffset, starts.byteOffset, bags, sums.byteOffset);
    },

    adaGradRows({ table, squares, gradients }, { ids, starts }, { rate, ignored }) {
      requireInside(arena, { table, squares, gradients, ids, starts });
      requireLength(table.length, { squares });
      const bags = starts.length - 1;
      adaGradRows(
        table.byteOffset,
        squares.byteOffset,
        widthOfBags(bags, gradients),
        ids.byteOffset,
        starts.byteOffset,
        bags,
        gradients.byteOffset,
        rate,
        ignored,
      );
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
