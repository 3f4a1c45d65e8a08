import { ModelFolderError } from '../contract/index.js';
import {
  fields,
  listOf,
  object,
  oneOf,
  pairOf,
  quantizeRow,
  recordOf,
  type Shaped,
  shaped,
  text,
  utf8Text,
  whole,
} from '../system/index.js';

/** IEEE 754 binary16: 1 sign bit, 5 exponent bits, 10 fraction bits. */

const scratch = new DataView(new ArrayBuffer(4));

/** Nearest, ties to even; from ±65,520 on, an infinity. */
export function toFloat16Bits(value: number): number {
  scratch.setFloat32(0, value);
  const bits = scratch.getUint32(0);
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00; // NaN
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  // Below 2⁻¹⁴ (subnormal), a float16 is a whole multiple of 2⁻²⁴.
  if (magnitude < 0x38800000) return sign | roundToEven(Math.abs(value) * 2 ** 24);
  const rebiased = magnitude - 0x38000000;
  return sign | ((rebiased + 0xfff + ((rebiased >>> 13) & 1)) >>> 13);
}

/** Exponents are stored with 127 added in float32, and with 15 in float16. */
const EXPONENT_SHIFT = 2 ** (127 - 15);
/** An infinity's bits as a number. */
const BEYOND = 2 ** 16;

/** The bits, moved to their places in a float32, only lack the larger exponent. */
export function fromFloat16Bits(bits: Uint16Array): Float32Array {
  const moved = new Int32Array(bits.length);
  const values = new Float32Array(moved.buffer);
  for (let at = 0; at < bits.length; at += 1) {
    const each = bits[at] ?? 0;
    moved[at] = ((each & 0x8000) << 16) | ((each & 0x7fff) << 13);
    const value = (values[at] ?? 0) * EXPONENT_SHIFT;
    values[at] = Math.abs(value) < BEYOND ? value : special(value);
  }
  return values;
}

/** An infinity if the fraction is 0, else NaN. */
function special(value: number): number {
  return Math.abs(value) === BEYOND ? value * Number.POSITIVE_INFINITY : Number.NaN;
}

function roundToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
}

export function roundedToFloat16(values: Float32Array): Float32Array {
  return fromFloat16Bits(Uint16Array.from(values, toFloat16Bits));
}

/** https://github.com/huggingface/safetensors#format */

/** Row-major. */
export interface NamedTensor {
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

/** Row-major. */
export interface IntegerTensor {
  readonly shape: readonly number[];
  readonly values: Int32Array | Int8Array;
}

/** 100,000 tensors. The reference implementation's limit is 100 MB. */
const MAX_HEADER_BYTES = 16 * 1024 ** 2;
const MAX_DIMENSIONS = 8;
/** The limit of one dimension, also where another is 0. */
const MAX_SIZE = 2 ** 31 - 1;

const entryShape = fields(
  {
    dtype: oneOf('F32', 'F16', 'BF16', 'F64', 'I64', 'I32', 'I16', 'I8', 'U8', 'BOOL'),
    shape: listOf(whole(0, MAX_SIZE), MAX_DIMENSIONS),
    data_offsets: pairOf(whole(0), whole(0)),
  },
  {},
);
type Entry = Shaped<typeof entryShape>;
const metadataShape = recordOf(text);

interface Safetensors {
  /** Floating-point tensors, as float32. */
  readonly tensors: ReadonlyMap<string, NamedTensor>;
  /** The bits of F16 tensors, if they were asked for: then they are not among `tensors`. */
  readonly halves: ReadonlyMap<string, Uint16Array>;
  /** int32 and int8; other integers (int64 position ids, say) are left out. */
  readonly integers: ReadonlyMap<string, IntegerTensor>;
  readonly metadata: Readonly<Record<string, string>>;
}

interface SafetensorsOptions {
  /** F16 keeps a weight below 65,504 to one part in 2,048. Default F32. */
  readonly floats?: 'F32' | 'F16';
}

/** Writes tensors in the order given. @param metadata free text; Python's transformers requires `format: pt`. */
export function encodeSafetensors(
  tensors: ReadonlyMap<string, NamedTensor | IntegerTensor>,
  metadata: Readonly<Record<string, string>> = { format: 'pt' },
  { floats = 'F32' }: SafetensorsOptions = {},
): Uint8Array {
  const pieces = [...filePieces(tensors, metadata, ({ values }) => storedType(values, floats))];
  const file = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    file.set(piece, at);
    at += piece.length;
  }
  return file;
}

/** Float32 tensors piece by piece: values are asked for when it is their turn. */
export function safetensorsPieces(
  tensors: ReadonlyMap<string, NamedTensor>,
  metadata: Readonly<Record<string, string>> = { format: 'pt' },
): Generator<Uint8Array, void> {
  return filePieces(tensors, metadata, () => 'F32');
}

function* filePieces<Tensor extends NamedTensor | IntegerTensor>(
  tensors: ReadonlyMap<string, Tensor>,
  metadata: Readonly<Record<string, string>>,
  typeOf: (tensor: Tensor) => StoredType,
): Generator<Uint8Array, void> {
  let end = 0;
  const entries = [...tensors].map(([name, tensor]) => {
    const { shape } = tensor;
    const dtype = typeOf(tensor);
    const start = end;
    end += widths[dtype] * elements({ shape });
    return [name, { dtype, shape, data_offsets: [start, end] }] as const;
  });
  yield headerOf([['__metadata__', metadata], ...entries]);
  for (const tensor of tensors.values()) yield bytesOf(tensor.values, typeOf(tensor));
}

/** The length comes first; spaces align the tensors to 8 bytes. */
function headerOf(entries: readonly (readonly [name: string, entry: unknown])[]): Uint8Array {
  const json = new TextEncoder().encode(JSON.stringify(Object.fromEntries(entries)));
  const length = Math.ceil(json.length / 8) * 8;
  const header = new Uint8Array(8 + length).fill(0x20, 8);
  new DataView(header.buffer).setBigUint64(0, BigInt(length), true);
  header.set(json, 8);
  return header;
}

type Values = (NamedTensor | IntegerTensor)['values'];

type StoredType = 'F32' | 'F16' | 'I32' | 'I8';

function storedType(values: Values, floats: 'F32' | 'F16'): StoredType {
  if (values instanceof Float32Array) return floats;
  return values instanceof Int32Array ? 'I32' : 'I8';
}

/** @returns the tensor's own memory if no value must be converted. */
function bytesOf(values: Values, type: StoredType): Uint8Array {
  const stored = type === 'F16' ? Uint16Array.from(values, toFloat16Bits) : values;
  return new Uint8Array(stored.buffer, stored.byteOffset, stored.byteLength);
}

interface DecodingOptions {
  /** Aligned tensors that need no conversion are views of `bytes`. Default false. */
  readonly inPlace?: boolean;
  /** Leaves F16 tensors as bits. Default false. */
  readonly keepHalves?: boolean;
}

/** @throws ModelFolderError */
export function decodeSafetensors(
  bytes: Uint8Array,
  file: string,
  { inPlace = false, keepHalves = false }: DecodingOptions = {},
): Safetensors {
  const { entries, metadata, start } = readHeader(bytes, file);
  checkPlaces(entries, bytes.length - start, file);
  const tensors = new Map<string, NamedTensor>();
  const halves = new Map<string, Uint16Array>();
  const integers = new Map<string, IntegerTensor>();
  for (const [name, entry] of entries) {
    const [from, to] = entry.data_offsets;
    const { shape, dtype } = entry;
    const stored = bytes.subarray(start + from, start + to);
    // A copy, unless numbers of several bytes are aligned.
    const isAligned = stored.byteOffset % widths[dtype] === 0;
    const { buffer, byteOffset } = inPlace && isAligned ? stored : new Uint8Array(stored);
    const count = stored.length / widths[dtype];
    if (dtype === 'I8') integers.set(name, { shape, values: new Int8Array(buffer, byteOffset, count) });
    else if (dtype === 'I32') integers.set(name, { shape, values: new Int32Array(buffer, byteOffset, count) });
    else if (dtype === 'F16' && keepHalves) halves.set(name, new Uint16Array(buffer, byteOffset, count));
    else if (isFloat(dtype)) tensors.set(name, { shape, values: toFloat32(buffer, byteOffset, count, dtype) });
  }
  return { tensors, halves, integers, metadata };
}

interface Header {
  readonly entries: readonly [string, Entry][];
  readonly metadata: Readonly<Record<string, string>>;
  readonly start: number;
}

function readHeader(bytes: Uint8Array, file: string): Header {
  const refusal = (reason: string) => new ModelFolderError(file, `not a safetensors file: ${reason}`);
  if (bytes.length < 8) throw refusal(`it has ${bytes.length} bytes`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headerLength = Number(view.getBigUint64(0, true));
  if (headerLength > MAX_HEADER_BYTES || 8 + headerLength > bytes.length) {
    throw refusal(`its header of ${headerLength} bytes is cut off or not a header`);
  }
  const json = utf8Text(bytes.subarray(8, 8 + headerLength));
  const header = shaped(object, parsedJson(json));
  if (header === undefined) throw refusal('its header is not a JSON object');
  const { __metadata__: given, ...tensors } = header;
  const metadata = shaped(metadataShape, given ?? {});
  if (metadata === undefined) throw refusal('its metadata are not all strings');
  const entries: [string, Entry][] = [];
  for (const [name, description] of Object.entries(tensors)) {
    const entry = shaped(entryShape, description);
    if (entry === undefined) throw refusal(`the entry of tensor ${name.slice(0, MAX_NAME_CHARACTERS)} is invalid`);
    entries.push([name, entry]);
  }
  return { entries, metadata, start: 8 + headerLength };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const widths: Readonly<Record<Entry['dtype'], number>> = {
  F64: 8,
  I64: 8,
  F32: 4,
  I32: 4,
  F16: 2,
  BF16: 2,
  I16: 2,
  I8: 1,
  U8: 1,
  BOOL: 1,
};

const isFloat = (dtype: Entry['dtype']): boolean => ['F64', 'F32', 'F16', 'BF16'].includes(dtype);

const elements = ({ shape }: Pick<NamedTensor, 'shape'>): number =>
  shape.reduce((product, dimension) => product * dimension, 1);

/** Tensors must fill the file one after the other: shared bytes would take memory for each. @throws ModelFolderError */
function checkPlaces(entries: readonly [string, Entry][], dataBytes: number, file: string): void {
  const refusal = (name: string, reason: string) =>
    new ModelFolderError(file, `tensor ${name.slice(0, MAX_NAME_CHARACTERS)} ${reason}`);
  const byPlace = [...entries].sort(([, a], [, b]) => placeOf(a) - placeOf(b));
  let end = 0;
  for (const [name, entry] of byPlace) {
    const [from, to] = entry.data_offsets;
    const bytes = elements(entry) * widths[entry.dtype];
    if (to > dataBytes || to - from !== bytes) {
      throw refusal(name, `should have ${bytes} bytes, but the file has ${Math.min(to, dataBytes) - from}`);
    }
    if (from !== end) throw refusal(name, `starts at byte ${from}, but the one before it ends at ${end}`);
    end = to;
  }
  if (end === dataBytes) return;
  const rest = dataBytes - end;
  throw new ModelFolderError(file, `the file has ${rest} more ${rest === 1 ? 'byte' : 'bytes'} after its last tensor`);
}

/** Tensors without elements come before the one that starts where they do. */
const placeOf = ({ data_offsets: [from, to] }: Entry): number => from + to;

const MAX_NAME_CHARACTERS = 200;

/** @returns a view of the buffer for F32. */
function toFloat32(buffer: ArrayBufferLike, start: number, count: number, dtype: Entry['dtype']): Float32Array {
  if (dtype === 'F32') return new Float32Array(buffer, start, count);
  if (dtype === 'F64') return new Float32Array(new Float64Array(buffer, start, count));
  const halves = new Uint16Array(buffer, start, count);
  // bfloat16 is the upper half of a float32.
  return dtype === 'F16'
    ? fromFloat16Bits(halves)
    : new Float32Array(Int32Array.from(halves, (bits) => bits << 16).buffer);
}

/** I8 [rows, 1, columns] and an F32 scale per row in `.scale`; the 1 makes Python's transformers refuse the file. */

const BYTE_ROWS = 'orchard-byte-rows';
const SCALE_SUFFIX = '.scale';

/** The largest weight of a row has this byte; others are stored in proportion. */
const LARGEST_BYTE = 127;

/** @throws RangeError if a matrix has a number that isn't finite */
export function encodeByteRows(weights: ReadonlyMap<string, NamedTensor>): Uint8Array {
  const tensors = new Map<string, NamedTensor | IntegerTensor>();
  for (const [name, tensor] of weights) {
    if (tensor.shape.length !== 2) {
      tensors.set(name, tensor);
      continue;
    }
    const { bytes, scales } = byteRows(name, tensor);
    tensors.set(name, bytes);
    tensors.set(name + SCALE_SUFFIX, scales);
  }
  return encodeSafetensors(tensors, { format: BYTE_ROWS });
}

function byteRows(name: string, { shape, values }: NamedTensor): { bytes: IntegerTensor; scales: NamedTensor } {
  const [rows = 0, width = 0] = shape;
  const bytes = new Int8Array(values.length);
  const scales = Float32Array.from({ length: rows }, (_, row) => {
    const [start, end] = [row * width, (row + 1) * width];
    const scale = quantizeRow(values.subarray(start, end), LARGEST_BYTE, bytes.subarray(start, end));
    if (!Number.isFinite(scale)) throw new RangeError(`${name}, row ${row}: a weight is not finite`);
    return scale;
  });
  return { bytes: { shape: [rows, 1, width], values: bytes }, scales: { shape: [rows], values: scales } };
}

/** Reads a file of {@link encodeByteRows} or any other safetensors file. @throws ModelFolderError */
export function decodeWeights(
  bytes: Uint8Array,
  file: string,
  options?: DecodingOptions,
): ReadonlyMap<string, NamedTensor> {
  const content = decodeSafetensors(bytes, file, options);
  return content.metadata.format === BYTE_ROWS ? withFloatRows(content, file) : content.tensors;
}

function withFloatRows({ tensors, integers }: Safetensors, file: string): ReadonlyMap<string, NamedTensor> {
  const weights = new Map(tensors);
  for (const [name, { shape, values }] of integers) {
    const [rows = 0, one = 0, width = 0] = shape;
    const scaleName = name + SCALE_SUFFIX;
    const scales = tensors.get(scaleName);
    if (scales?.shape.join() !== `${rows}` || one !== 1 || shape.length !== 3) {
      const found = scales === undefined ? 'is missing' : `is [${scales.shape.join(', ')}]`;
      const expected = 'expected [rows, 1, columns] and a scale for each row';
      const reason = `tensor ${name} is [${shape.join(', ')}] and ${scaleName} ${found}; ${expected}`;
      throw new ModelFolderError(file, reason);
    }
    weights.set(name, { shape: [rows, width], values: scaledRows(values, scales.values) });
    weights.delete(scaleName);
  }
  return weights;
}

/** Millions of weights wait for it when training starts. */
function scaledRows(bytes: IntegerTensor['values'], scales: Float32Array): Float32Array {
  const floats = new Float32Array(bytes.length);
  const width = bytes.length / scales.length;
  for (let row = 0; row < scales.length; row += 1) {
    const scale = scales[row] ?? 0;
    for (let at = row * width; at < (row + 1) * width; at += 1) floats[at] = (bytes[at] ?? 0) * scale;
  }
  return floats;
}
