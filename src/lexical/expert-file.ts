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

/** Undefined if it is missing or doesn't fit the shape. */
export function parseEntry<T>(shape: JsonShape<T>, entry: string | undefined): T | undefined {
  try {
    return shaped(shape, JSON.parse(entry ?? ''));
  } catch {
    return undefined;
  }
}

/** A weight is its byte times the scale of its feature. */
export interface ByteWeights {
  /** [features] */
  readonly hashes: Int32Array;
  /** [features, outputs] */
  readonly bytes: Int8Array;
  /** [features] */
  readonly scales: Float32Array;
}

/** Other weights are stored in proportion. */
const LARGEST_BYTE = 127;

/** Rounded as in the file, so that a new expert answers as a stored one. @param weights [features, stride]. */
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

/** @param perOutput names the tensor with an entry per output, `other` the other one. @throws ModelFolderError */
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

/** Far above any trained weight; sums stay far within float32. */
const LARGEST = 1e6;

/** Sums of the numbers must be numbers, too. A loop, since half a million may be looked at when a model is loaded. */
function areModerate(values: Float32Array): boolean {
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at] ?? 0;
    if (!(value >= -LARGEST && value <= LARGEST)) return false;
  }
  return true;
}

/** Whole vectors of four, as the kernels need. */
export const paddedOutputs = (outputs: number): number => Math.ceil(outputs / 4) * 4;

interface SumLimits {
  readonly bags: number;
  /** Of all bags together. */
  readonly ids: number;
}

export class ByteTable {
  /** To fill before {@link ByteTable.sum}; the first bag starts at 0. */
  readonly bags: IdBags;
  /** To fill. [ids] */
  readonly values: Float32Array;
  /** The outputs and zeros. */
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

  /** Overwritten by the next call. [count, width] */
  sum(count: number): Float32Array {
    const { ids, starts } = this.bags;
    const sums = this.#sums.subarray(0, count * this.width);
    this.#kernels.sumByteRows(this.#table, { ids, starts: starts.subarray(0, count + 1) }, this.values, sums);
    return sums;
  }
}

/** A loop: `set(subarray())` costs an allocation. @param rows [n, width] @param padded [n, paddedWidth], zeros. */
function padRows(rows: Int8Array, width: number, padded: Int8Array, paddedWidth: number): void {
  if (width === paddedWidth) {
    padded.set(rows);
    return;
  }
  for (let from = 0, to = 0; from < rows.length; to += paddedWidth) {
    for (let column = 0; column < width; column += 1, from += 1) padded[to + column] = rows[from] ?? 0;
  }
}
