import { InternalError } from '../../contract/index.js';
import type { Arena } from './arena.js';
import { KERNELS_WASM_BASE64 } from './generated.js';

/// <reference path="./web-assembly.d.ts" />

export interface IdBags {
  readonly ids: Int32Array;
  /** Where each bag's ids start; one more entry at the end. [bags + 1] */
  readonly starts: Int32Array;
}

export type AnswerKernels = ReturnType<typeof loadAnswerKernels>;

/** Rows of signed bytes that {@link AnswerKernels.byteRowSums} adds up; all views lie in one arena. */
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

/** What {@link AnswerKernels.featureWeighing} reads and writes; all views lie in one arena. */
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

/**
 * Kernels that answers need, on views of one arena. Each throws a RangeError, and writes nothing, if views or lengths don't
 * fit.
 */
export function loadAnswerKernels(arena: Arena, exports = instantiate(arena)) {
  const exported = (name: string) => onViews(requireKernel(exports, name));
  const numberHashes = exported('numberHashes');
  const quantizeRows = exported('quantizeRows');
  const findBags = exported('findBags');
  const widenHalves = exported('widenHalves');
  const dotByteRows = exported('dotByteRows');
  const dotRows = exported('dotRows');

  return {
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
  };
}

export type Kernel = (...values: number[]) => number;

/** A kernel that takes views by where they begin. */
export function onViews(kernel: Kernel): (...values: (number | View)[]) => number {
  return (...values) => kernel(...values.map((value) => (typeof value === 'number' ? value : value.byteOffset)));
}

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
  if (!isKernel(value)) throw new InternalError(`kernel ${name} is missing: run "npm run build"`);
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

export function requireInside(arena: Arena, views: NamedViews): void {
  for (const [name, view] of Object.entries(views)) {
    if (!arena.holds(view)) throw new RangeError(`${name}: not a view of this arena`);
  }
}

export function requireLength(length: number, views: NamedViews): void {
  for (const [name, view] of Object.entries(views)) {
    if (view.length !== length) throw new RangeError(`${name}: ${view.length} elements, expected ${length}`);
  }
}

function requireWidth(width: number): void {
  if (width % DOT_STEP !== 0) throw new RangeError(`rows of ${width}: the width is not a multiple of ${DOT_STEP}`);
}
