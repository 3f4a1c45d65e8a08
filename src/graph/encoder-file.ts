import { ModelFolderError } from '../contract/index.js';
import { decodeSafetensors, encodeSafetensors, type IntegerTensor, type NamedTensor } from '../models/index.js';
import { biasOf, type StoredLayer, type StoredModel, type StoredTable } from './onnx/integer-weights.js';

/**
 * The weights of a graph as a safetensors file, for places where ONNX Runtime can't go: it is read in a fifth of the time.
 * A weight in integers has its name, and with it what restores it:
 *
 *     a linear layer     `.scales` [outputs], `.rounding` [scale, zero] of its input
 *     a table in 8 bits  `.scales` [rows]
 *     a table in 4 bits  `.scales` [rows], `.columns` [width]
 */

const SCALES = '.scales';
const ROUNDING = '.rounding';
const COLUMNS = '.columns';

export function encoderFile({ layers, tables, floats }: StoredModel): Uint8Array {
  const tensors = new Map<string, NamedTensor | IntegerTensor>();
  const addFloats = (name: string, values: Float32Array) => tensors.set(name, { shape: [values.length], values });
  // The others belong to the graph's way of computing.
  for (const [name, tensor] of floats) if (/\.(?:weight|bias)$/u.test(name)) tensors.set(name, tensor);
  for (const [name, { integers, scales, bias, input }] of layers) {
    tensors.set(name, { shape: [integers.length / scales.length, scales.length], values: integers });
    addFloats(name + SCALES, scales);
    addFloats(name + ROUNDING, Float32Array.of(input.scale, input.zero));
    if (bias !== undefined) addFloats(biasOf(name), bias);
  }
  for (const [name, table] of tables) {
    const { integers, scales } =
      table.kind === 'bytes' ? table : { integers: signed(table.bytes), scales: table.rowScales };
    tensors.set(name, { shape: [scales.length, integers.length / scales.length], values: integers });
    addFloats(name + SCALES, scales);
    if (table.kind === 'packed') addFloats(name + COLUMNS, table.columnScales);
  }
  return encodeSafetensors(tensors);
}

/** @throws ModelFolderError */
export function readEncoderFile(bytes: Uint8Array, file: string): StoredModel {
  const { tensors: floats, integers } = decodeSafetensors(bytes, file, { inPlace: true });
  const layers = new Map<string, StoredLayer>();
  const tables = new Map<string, StoredTable>();
  for (const [name, { shape, values }] of integers) {
    if (!(values instanceof Int8Array)) throw new ModelFolderError(file, `tensor ${name} should be I8`);
    const scales = floats.get(name + SCALES)?.values;
    if (scales === undefined) throw new ModelFolderError(file, `lacks the tensor ${name + SCALES}`);
    const rounding = floats.get(name + ROUNDING)?.values;
    const columnScales = floats.get(name + COLUMNS)?.values;
    if (rounding !== undefined) {
      const [scale = 1, zero = 0] = rounding;
      layers.set(name, { integers: values, scales, bias: floats.get(biasOf(name))?.values, input: { scale, zero } });
    } else if (columnScales === undefined) tables.set(name, { kind: 'bytes', shape, integers: values, scales });
    else tables.set(name, { kind: 'packed', bytes: unsigned(values), rowScales: scales, columnScales });
  }
  return { layers, tables, floats };
}

const signed = ({ buffer, byteOffset, length }: Uint8Array) => new Int8Array(buffer, byteOffset, length);
const unsigned = ({ buffer, byteOffset, length }: Int8Array) => new Uint8Array(buffer, byteOffset, length);
