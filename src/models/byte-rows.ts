import { ModelFolderError } from '../contract/index.js';
import { roundRow } from '../system/index.js';
import {
  type DecodingOptions,
  decodeSafetensors,
  encodeSafetensors,
  type IntegerTensor,
  type NamedTensor,
  type Safetensors,
} from './safetensors.js';

/**
 * An encoder's weights in a quarter of float32's bytes, to start a training from. Each matrix is stored as I8
 * [rows, 1, columns] and, under its name and `.scale`, one F32 per row [rows]; a weight is its byte times its
 * row's scale. Vectors stay F32.
 *
 * The 1 makes Python's transformers refuse the file for its shapes; otherwise it would take the bytes for
 * weights.
 */

/** The metadata entry `format` of such a file. */
const BYTE_ROWS = 'orchard-byte-rows';
const SCALE_SUFFIX = '.scale';

/** The byte for a row's largest weight; its other weights are stored in proportion. */
const LARGEST_BYTE = 127;

/** The bytes of a file with these weights. @throws RangeError if a matrix has a number that isn't finite. */
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

function byteRows(
  name: string,
  { shape, values }: NamedTensor,
): { bytes: IntegerTensor; scales: NamedTensor } {
  const [rows = 0, width = 0] = shape;
  const bytes = new Int8Array(values.length);
  const scales = Float32Array.from({ length: rows }, (_, row) => {
    const [start, end] = [row * width, (row + 1) * width];
    const scale = roundRow(values.subarray(start, end), LARGEST_BYTE, bytes.subarray(start, end));
    if (!Number.isFinite(scale)) throw new RangeError(`${name}, row ${row}: a weight is not finite`);
    return scale;
  });
  return { bytes: { shape: [rows, 1, width], values: bytes }, scales: { shape: [rows], values: scales } };
}

/**
 * The weights of an encoder as float32, from a file of {@link encodeByteRows} or from any other safetensors
 * file.
 * @param file named in errors.
 * @param options of {@link decodeSafetensors}.
 * @throws ModelFolderError
 */
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

/** Each row of bytes times its scale. Millions of weights wait for it when a training starts. */
function scaledRows(bytes: IntegerTensor['values'], scales: Float32Array): Float32Array {
  const floats = new Float32Array(bytes.length);
  const width = bytes.length / scales.length;
  for (let row = 0; row < scales.length; row += 1) {
    const scale = scales[row] ?? 0;
    for (let at = row * width; at < (row + 1) * width; at += 1) floats[at] = (bytes[at] ?? 0) * scale;
  }
  return floats;
}
