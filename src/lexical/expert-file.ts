import { ModelFolderError } from '../contract/index.js';
import { type AnswerKernels, Arena, type IdBags, loadAnswerKernels } from '../engine/index.js';
import {
  decodeSafetensors,
  encodeSafetensors,
  fromFloat16Bits,
  type IntegerTensor,
  type NamedTensor,
  roundedToFloat16,
} from '../models/index.js';
import { type JsonShape, quantizeRow, shaped } from '../system/index.js';
import type { HashTable } from './hash-table.js';

/** Undefined if it is missing or doesn't fit the shape. */
export function parseEntry<T>(shape: JsonShape<T>, entry: string | undefined): T | undefined {
  try {
    return shaped(shape, JSON.parse(entry ?? ''));
  } catch {
    return undefined;
  }
}

/** Numbers, or the bits of float16 numbers, as files have them. */
export type StoredFloats = Float32Array | Uint16Array;

/** A weight is its byte times the scale of its feature. */
export interface ByteWeights {
  /** [features] */
  readonly hashes: Int32Array;
  /** [features, outputs] */
  readonly bytes: Int8Array;
  /** [features] */
  readonly scales: StoredFloats;
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
  { hashes, bytes }: Pick<ByteWeights, 'hashes' | 'bytes'>,
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

/** Its tensors are views of the bytes where they can be. @throws ModelFolderError */
export function readExpertFile(bytes: Uint8Array, file: string): ReturnType<typeof decodeSafetensors> {
  return decodeSafetensors(bytes, file, { inPlace: true, keepHalves: true });
}

/** @param perOutput names the tensor with an entry per output, `other` the other one. @throws ModelFolderError */
export function decodeWeights(
  { tensors, halves, integers }: ReturnType<typeof decodeSafetensors>,
  perOutput: string,
  other: string,
  file: string,
) {
  const refused = (reason: string) => new ModelFolderError(file, reason);
  const floats = (name: string): StoredFloats | undefined => halves.get(name) ?? tensors.get(name)?.values;
  const hashes = integers.get('hashes')?.values;
  const bytes = integers.get('weights')?.values;
  const [scales, first, second] = [floats('scales'), floats(perOutput), floats(other)];
  if (!(hashes instanceof Int32Array && bytes instanceof Int8Array && scales && first && second)) {
    throw refused(`one of hashes (I32), weights (I8), scales, ${perOutput}, ${other} is missing`);
  }
  if (scales.length !== hashes.length || bytes.length !== hashes.length * first.length) {
    throw refused(`its scales or weights don't fit its ${hashes.length} hashes and ${first.length} outputs`);
  }
  return { weights: { hashes, bytes, scales }, perOutput: moderateFloats(first, perOutput, file), other: second };
}

/** @param name of the tensor. @throws ModelFolderError if a number is far too large, or none */
export function moderateFloats(stored: StoredFloats, name: string, file: string): Float32Array {
  const values = stored instanceof Uint16Array ? fromFloat16Bits(stored) : stored.slice();
  if (values.every(isModerate)) return values;
  throw new ModelFolderError(file, `one of its ${name} is too large, or not a number`);
}

/** Far above any trained weight and any float16; sums stay far within float32. */
const LARGEST = 1e6;

const isModerate = (value: number): boolean => Math.abs(value) <= LARGEST;

/** Whole vectors of four, as the kernels need. */
export const paddedOutputs = (outputs: number): number => Math.ceil(outputs / 4) * 4;

/** The memory of an expert, which kernels read and write. */
export class ExpertMemory {
  readonly arena: Arena;
  readonly kernels: AnswerKernels;
  #areModerate = true;

  /** @param counts of the elements of its arrays. */
  constructor(counts: Iterable<number>) {
    this.arena = new Arena(Arena.bytesFor(counts));
    this.kernels = loadAnswerKernels(this.arena);
  }

  floats(stored: StoredFloats): Float32Array {
    const values = this.arena.float32(stored.length);
    if (stored instanceof Uint16Array) this.#areModerate &&= this.kernels.widenHalves(stored, values);
    else {
      values.set(stored);
      this.#areModerate &&= values.every(isModerate);
    }
    return values;
  }

  /** @param index of all its hashes. @param file named in errors. @throws ModelFolderError */
  requireSound(index: HashTable, hashes: Int32Array, file: string): void {
    const refused = (reason: string) => new ModelFolderError(file, reason);
    if (!this.#areModerate) throw refused('a scale or weight of its features is too large, or not a number');
    if (index.size !== hashes.length) throw refused('a hash occurs twice, or too many of them share a place');
  }
}

/** Sums of rows of bytes. */
export class ByteTable {
  /** [rows, outputs] */
  readonly bytes: Int8Array;
  /** [rows] */
  readonly scales: Float32Array;
  /** Of the sums, which begin with the outputs. */
  readonly width: number;
  readonly #sums: Float32Array;
  readonly #sumRows: (bags: number) => void;

  /** @param bags to fill before {@link ByteTable.sum}, as are the values, which a sum overwrites. */
  constructor(
    memory: ExpertMemory,
    { bytes, scales }: Pick<ByteWeights, 'bytes' | 'scales'>,
    outputs: number,
    { bags, values }: { readonly bags: IdBags; readonly values: Float32Array },
  ) {
    const { arena, kernels } = memory;
    this.width = paddedOutputs(outputs);
    this.scales = memory.floats(scales);
    this.bytes = arena.int8(bytes.length + BEYOND).subarray(0, bytes.length);
    this.bytes.set(bytes);
    this.#sums = arena.float32((bags.starts.length - 1) * this.width);
    const rows = { table: this.bytes, stride: outputs, scales: this.scales };
    this.#sumRows = kernels.byteRowSums({ ...rows, bags, values, sums: this.#sums });
  }

  static counts(rows: number, outputs: number, bags: number): number[] {
    return [rows, Math.ceil((rows * outputs + BEYOND) / 4), bags * paddedOutputs(outputs)];
  }

  /** The sum of value · scale · bytes over each bag. Overwritten by the next call. [at least count, width] */
  sum(count: number): Float32Array {
    this.#sumRows(count);
    return this.#sums;
  }
}

/** Bytes after the last row that the kernel reads, but doesn't use. */
const BEYOND = 3;
