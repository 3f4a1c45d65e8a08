import { ModelFolderError } from '../contract/index.js';
import { Arena, type IdBags, type Kernels, loadKernels } from '../engine/index.js';
import {
  type decodeSafetensors,
  encodeSafetensors,
  type IntegerTensor,
  type NamedTensor,
  roundedToFloat16,
} from '../models/index.js';
import { type JsonShape, quantizeRow, shaped } from '../system/index.js';

/** What the files of the experts have in common, and the weights in them: bytes, in memory as in the file. */

/** A metadata entry of a file, parsed as JSON; undefined if it is missing or doesn't fit the shape. */
export function parseEntry<T>(shape: JsonShape<T>, entry: string | undefined): T | undefined {
  try {
    return shaped(shape, JSON.parse(entry ?? ''));
  } catch {
    return undefined;
  }
}

/** Weights of features as they are stored: a weight is its byte times the scale of its feature. */
export interface ByteWeights {
  /** The features, by id. [features] */
  readonly hashes: Int32Array;
  /** [features, outputs] */
  readonly bytes: Int8Array;
  /** [features] */
  readonly scales: Float32Array;
}

/** The byte for a feature's largest weight; its other weights are stored in proportion. */
const LARGEST_BYTE = 127;

/**
 * The weights of some features, rounded as in the file, so that a stored expert gives the same answers as a new one.
 * @param weights [features, stride]; columns after `outputs` are left out.
 * @param ids of the features to keep.
 */
export function quantizeWeights(
  hashes: Int32Array,
  { weights, stride, outputs }: { readonly weights: Float32Array; readonly stride: number; readonly outputs: number },
  ids: Int32Array,
): ByteWeights {
  const bytes = new Int8Array(ids.length * outputs);
  const scales = Float32Array.from(ids, (id, row) => {
    const values = weights.subarray(id * stride, id * stride + outputs);
    return quantizeRow(values, LARGEST_BYTE, bytes.subarray(row * outputs, (row + 1) * outputs));
  });
  return { hashes: ids.map((id) => hashes[id] ?? 0), bytes, scales: roundedToFloat16(scales) };
}

/** The bytes of a safetensors file. @param others further tensors, the scales among them. */
export function encodeWeights(
  { hashes, bytes }: ByteWeights,
  others: Readonly<Record<string, NamedTensor>>,
  metadata: Readonly<Record<string, string>>,
): Uint8Array {
  const features = hashes.length;
  const tensors = new Map<string, NamedTensor | IntegerTensor>([
    ['hashes', { shape: [features], values: hashes }],
    ...Object.entries(others),
    ['weights', { shape: [features, bytes.length / Math.max(1, features)], values: bytes }],
  ]);
  return encodeSafetensors(tensors, metadata, { floats: 'F16' });
}

/**
 * The weights in a file, and its two other tensors.
 * @param perOutput the name of a tensor that has an entry for each output. @param other the name of the other one.
 * @param file named in errors.
 * @throws ModelFolderError
 */
export function decodeWeights(
  { tensors, integers }: ReturnType<typeof decodeSafetensors>,
  perOutput: string,
  other: string,
  file: string,
) {
  const refused = (reason: string) => new ModelFolderError(file, reason);
  const hashes = integers.get('hashes')?.values;
  const bytes = integers.get('weights')?.values;
  const scales = tensors.get('scales')?.values;
  const first = tensors.get(perOutput)?.values;
  const second = tensors.get(other)?.values;
  if (!(hashes instanceof Int32Array && bytes instanceof Int8Array && scales && first && second)) {
    throw refused(`one of hashes (I32), weights (I8), scales, ${perOutput}, ${other} is missing`);
  }
  if (scales.length !== hashes.length || bytes.length !== hashes.length * first.length) {
    throw refused(`its scales or weights don't fit its ${hashes.length} hashes and ${first.length} outputs`);
  }
  if (![scales, first, second].every(areModerate)) {
    throw refused(`one of its scales, ${perOutput} or ${other} is too large, or not a number`);
  }
  return { weights: { hashes, bytes, scales }, perOutput: first, other: second };
}

/** Far above any weight that training finds, and so small that sums of them stay far within float32. */
const LARGEST = 1e6;

/**
 * Whether all stored numbers are such that sums of them are numbers too. Half a million may be looked at when a model is
 * loaded, so without a call for each.
 */
function areModerate(values: Float32Array): boolean {
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at] ?? 0;
    if (!(value >= -LARGEST && value <= LARGEST)) return false;
  }
  return true;
}

/** The number of outputs rounded up to whole vectors of four, as the kernels need it. */
export const paddedOutputs = (outputs: number): number => Math.ceil(outputs / 4) * 4;

interface SumLimits {
  readonly bags: number;
  /** Ids of all bags together. */
  readonly ids: number;
}

/** Sums rows of bytes in the memory of the kernels. */
export class ByteTable {
  /** To fill before {@link ByteTable.sum}: the rows of each bag, the first bag starting at 0. */
  readonly bags: IdBags;
  /** To fill with what each byte of a row counts. [ids] */
  readonly values: Float32Array;
  /** Columns of the sums: the outputs and zeros. */
  readonly width: number;
  readonly #kernels: Kernels;
  readonly #table: Int8Array;
  readonly #sums: Float32Array;

  /** @param rows [rows, outputs] */
  constructor(rows: Int8Array, outputs: number, { bags, ids }: SumLimits) {
    this.width = paddedOutputs(outputs);
    const bytes = (rows.length / Math.max(1, outputs)) * this.width;
    const arena = new Arena(Arena.bytesFor([Math.ceil(bytes / 4), bags * this.width, ids, ids, bags + 1]));
    this.#table = arena.int8(bytes);
    this.#sums = arena.float32(bags * this.width);
    this.values = arena.float32(ids);
    this.bags = { ids: arena.int32(ids), starts: arena.int32(bags + 1) };
    padRows(rows, outputs, this.#table, this.width);
    this.#kernels = loadKernels(arena);
  }

  /** The sums of the first `count` bags; overwritten by the next call. [count, width] */
  sum(count: number): Float32Array {
    const { ids, starts } = this.bags;
    const sums = this.#sums.subarray(0, count * this.width);
    this.#kernels.sumByteRows(this.#table, { ids, starts: starts.subarray(0, count + 1) }, this.values, sums);
    return sums;
  }
}

/**
 * Copies rows into wider ones. A loop: `set(subarray())` costs an allocation, which for a few bytes takes
 * longer than the copy.
 * @param rows [n, width]. @param padded [n, paddedWidth], 0 at first.
 */
function padRows(rows: Int8Array, width: number, padded: Int8Array, paddedWidth: number): void {
  if (width === paddedWidth) {
    padded.set(rows);
    return;
  }
  for (let from = 0, to = 0; from < rows.length; to += paddedWidth) {
    for (let column = 0; column < width; column += 1, from += 1) padded[to + column] = rows[from] ?? 0;
  }
}
