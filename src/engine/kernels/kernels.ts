import { InternalError } from '../../contract/index.js';
import type { Arena } from './arena.js';
import { KERNELS_WASM_BASE64 } from './generated.js';

/// <reference path="./web-assembly.d.ts" />

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

export interface IdBags {
  readonly ids: Int32Array;
  /** Where each bag's ids start; one more entry at the end. [bags + 1] */
  readonly starts: Int32Array;
}

export type Kernels = ReturnType<typeof loadKernels>;

/** Rows of signed bytes that {@link Kernels.byteRowSums} adds up; all views lie in one arena. */
export interface ByteRows {
  /** Its arena must have 3 more bytes after it. [rows, stride] */
  readonly table: Int8Array;
  readonly stride: number;
  /** Of each row. [rows] */
  readonly scales: Float32Array;
  readonly bags: IdBags;
  /** Of each entry of the bags; overwritten. */
  readonly values: Float32Array;
  /** The stride, rounded up to a multiple of 4, is their width. [bags, width] */
  readonly sums: Float32Array;
}

/** A hash table; assembly/number-hashes.ts says what is in its slots. */
export interface HashSlots {
  readonly hashes: Int32Array;
  /** A power of 2. */
  readonly slots: Int32Array;
  /** The mask of the numbers in the slots. */
  readonly numbers: number;
}

/** What {@link Kernels.featureWeighing} reads and writes; all views lie in one arena. */
export interface FeatureArrays {
  readonly table: HashSlots;
  /** Hashes to look up. */
  readonly given: Int32Array;
  /** Scratch. [given] */
  readonly starts: Int32Array;
  /** Zeros. [hashes] */
  readonly counts: Int32Array;
  /** [hashes] */
  readonly weights: Float32Array;
  /** With room for the ids of the text so far, and for all those given. */
  readonly ids: Int32Array;
  /** [ids] */
  readonly values: Float32Array;
}

type View = Float32Array | Int32Array | Int16Array | Uint16Array | Int8Array;

/** Kernels on views of one arena. Each throws a RangeError, and writes nothing, if views or lengths don't fit. */
export function loadKernels(arena: Arena) {
  const exports = instantiate(arena);
  const exported = (name: string) => {
    const kernel = requireKernel(exports, name);
    return (...values: (number | View)[]): number =>
      kernel(...values.map((value) => (typeof value === 'number' ? value : value.byteOffset)));
  };
  const adamW = exported('adamW');
  const sumOfSquares = exported('sumOfSquares');
  const accumulate = exported('accumulate');
  const fill = exported('fill');
  const scatterAddRows = exported('scatterAddRows');
  const zeroRows = exported('zeroRows');
  const dropoutMask = exported('dropoutMask');
  const svmPass = exported('svmPass');
  const numberHashes = exported('numberHashes');
  const quantizeRows = exported('quantizeRows');
  const findBags = exported('findBags');
  const widenHalves = exported('widenHalves');
  const dotByteRows = exported('dotByteRows');
  const dotRows = exported('dotRows');
  const sumRows = exported('sumRows');
  const adaGradRows = exported('adaGradRows');

  return {
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

    /**
     * @returns what sets sums[b, j] = Σ values[i] · scales[ids[i]] · table[ids[i], j] for the first bags. Columns after
     * the stride mean nothing; ids are not checked. Views are checked only once, as a sum takes less than that.
     */
    byteRowSums({ table, stride, scales, bags: { ids, starts }, values, sums }: ByteRows): (bags: number) => void {
      requireInside(arena, { table, scales, ids, starts, values, sums });
      requireLength(scales.length * stride, { table });
      const width = Math.ceil(stride / 4) * 4;
      const most = Math.min(starts.length - 1, Math.floor(sums.length / width));
      const room = Math.min(ids.length, values.length);
      const sumByteRows = requireKernel(exports, 'sumByteRows');
      const at = offsetsOf({ table, scales, ids, starts, values, sums });
      return (bags) => {
        const entries = starts[bags] ?? 0;
        if (bags > most || entries > room) throw new RangeError(`${bags} bags of ${entries} entries: too many`);
        sumByteRows(at.table, stride, width, at.scales, at.ids, at.starts, bags, at.values, at.sums);
      };
    },

    /**
     * Fills a hash table, zero at first; assembly/number-hashes.ts says how.
     * @param most steps of a hash, and `mean` of all: where one is exceeded, the rest is left out
     * @returns how many different hashes have a slot
     */
    numberHashes({ hashes, slots, numbers }: HashSlots, { most, mean }: { most: number; mean: number }): number {
      requireInside(arena, { hashes, slots });
      return numberHashes(hashes, hashes.length, slots, slots.length - 1, numbers, most, mean);
    },

    /** Puts the numbers of the given hashes that a table has into the first bags, whose starts were those of the hashes. */
    findBags({ hashes, slots, numbers }: HashSlots, given: Int32Array, { ids, starts }: IdBags, bags: number): void {
      requireInside(arena, { hashes, slots, given, ids, starts });
      const entries = starts[bags] ?? Number.POSITIVE_INFINITY;
      if (entries > Math.min(given.length, ids.length)) throw new RangeError(`${bags} bags of ${entries}: too many`);
      findBags(hashes, slots, slots.length - 1, numbers, given, starts, bags, ids);
    },

    /** Kernels on these views, which are checked only once: a call takes less than that. */
    featureWeighing({ table, given, starts, counts, ids, weights, values }: FeatureArrays) {
      const { hashes, slots, numbers } = table;
      requireInside(arena, { hashes, slots, given, starts, counts, ids, weights, values });
      requireLength(given.length, { starts });
      requireLength(hashes.length, { counts, weights });
      requireLength(ids.length, { values });
      const countFeatures = requireKernel(exports, 'countFeatures');
      const weighFeatures = requireKernel(exports, 'weighFeatures');
      const at = offsetsOf({ hashes, slots, given, starts, counts, ids, weights, values });
      const mask = slots.length - 1;
      return {
        /** Counts the first `count` given hashes; appends new ids. @returns the new end of the ids */
        count: (count: number, end: number): number => {
          if (count > given.length || count > ids.length - end) throw new RangeError(`${count} hashes: too many`);
          return countFeatures(at.hashes, at.slots, mask, numbers, at.given, at.starts, count, at.counts, at.ids, end);
        },
        /** Sets the values of ids and their counts to 0. @returns the sum of the counts */
        weigh: (first: number, end: number): number =>
          weighFeatures(at.ids, first, end, at.counts, at.weights, at.values),
      };
    },

    /** floats[i] = the float16 whose bits are halves[i]; a whole view of the arena. @returns whether all are finite */
    widenHalves(halves: Uint16Array, floats: Float32Array): boolean {
      requireInside(arena, { floats });
      requireLength(floats.length, { halves });
      // The kernel reads them from the second half of the floats' own memory, which the arena pads to whole vectors.
      const padded = 4 * Math.ceil(floats.length / 4);
      const copy = new Uint16Array(arena.memory.buffer, floats.byteOffset + 2 * padded, padded);
      copy.set(halves);
      copy.fill(0, halves.length);
      return widenHalves(copy, halves.length, floats) === 1;
    },

    /** scores[i] = scales[i] · Σⱼ codes[i, j] · query[j]; sums must stay below 2³¹, width a multiple of 16. */
    dotByteRows(codes: Int8Array, scales: Float32Array, query: Int16Array, scores: Float32Array): void {
      requireInside(arena, { codes, scales, query, scores });
      requireWidth(query.length);
      requireLength(scores.length, { scales });
      requireLength(scores.length * query.length, { codes });
      dotByteRows(codes, query.length, scores.length, scales, query, scores);
    },

    /**
     * Each row as bytes with a scale, as `quantizeRow` does it; a multiple of 16 columns.
     * @param most of the bytes. @returns the largest absolute value of all, or NaN
     */
    quantizeRows(table: Float32Array, codes: Int8Array, scales: Float32Array, most: number): number {
      requireInside(arena, { table, codes, scales });
      requireLength(table.length, { codes });
      const width = scales.length === 0 ? 0 : table.length / scales.length;
      requireWidth(width);
      return quantizeRows(table, width, scales.length, most, codes, scales);
    },

    /** scores[i] = Σⱼ table[ids[i], j] · query[j]; width a multiple of 16. Ids are not checked. */
    dotRows(table: Float32Array, ids: Int32Array, query: Float32Array, scores: Float32Array): void {
      requireInside(arena, { table, ids, query, scores });
      requireWidth(query.length);
      requireLength(scores.length, { ids });
      dotRows(table, query.length, ids, ids.length, query, scores);
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

export type Kernel = (...values: number[]) => number;

let compiled: WebAssembly.Module | undefined;

/** For places that compile no code at run time, such as workerd: the module that `dist/kernels.wasm` has, compiled by them. */
export function provideKernels(module: WebAssembly.Module): void {
  compiled = module;
}

function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = characters.charCodeAt(at);
  return bytes;
}

function compiledModule(): WebAssembly.Module {
  compiled ??= new WebAssembly.Module(bytesOfBase64(KERNELS_WASM_BASE64));
  return compiled;
}

export function instantiate({ memory }: Arena): Readonly<Record<string, unknown>> {
  return new WebAssembly.Instance(compiledModule(), { env: { memory, log: Math.log } }).exports;
}

export function requireKernel(exports: Readonly<Record<string, unknown>>, name: string): Kernel {
  const value = exports[name];
  if (!isKernel(value)) throw new InternalError(`kernel ${name} is missing: run "npm run build:kernels"`);
  return value;
}

function isKernel(value: unknown): value is Kernel {
  return typeof value === 'function';
}

/** Elements that a dot product handles at a time; rows are padded to a multiple of it. */
export const DOT_STEP = 16;

type NamedViews = Readonly<Record<string, View>>;

/** Where views are in the arena, which never moves: kernels of every text are called with plain numbers. */
function offsetsOf<Name extends string>(views: Readonly<Record<Name, View>>): Readonly<Record<Name, number>>;
function offsetsOf(views: NamedViews): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(views).map(([name, { byteOffset }]) => [name, byteOffset]));
}

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

function requireWidth(width: number): void {
  if (width % DOT_STEP !== 0) throw new RangeError(`rows of ${width}: the width is not a multiple of ${DOT_STEP}`);
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
