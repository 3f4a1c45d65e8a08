import type { NamedTensor } from '../../models/index.js';
import { restoredFactor, restoredRows, unpackedRows } from './integer-weights.js';
import { decodeModel, ElementTypeCode, type StoredNode, type StoredTensor } from './schema.js';

/** The weights of graphs that hold them as integers, in float32 again, up to what rounding has lost. */

/**
 * @param bytes of an `.onnx` file that this library wrote, with its weights inside.
 * @returns the weights by the names of their parameters, and constants of the graph by theirs.
 * @throws Error if it is none, or lacks a part of a weight.
 */
export async function restoredWeights(bytes: Uint8Array): Promise<ReadonlyMap<string, NamedTensor>> {
  const model = decodeModel(bytes);
  if (model === undefined) throw new Error('is not a graph that this library wrote');
  const { node, initializer } = model.graph;
  return new IntegerGraph(initializer, node).weights();
}

/** Nodes with a linear layer's weight as integers, and which inputs are what. */
interface LinearForm {
  readonly integers: number;
  readonly scales: number;
  readonly bias: number;
  /** The scale of the layer's input, if the bias counts in steps of it times the weight's scale. */
  readonly inputScale?: number;
}
const LINEAR: Readonly<Record<string, LinearForm>> = {
  MatMulIntegerToFloat: { integers: 1, scales: 3, bias: 6 },
  // In models of the catalogue.
  QGemm: { inputScale: 1, integers: 3, scales: 4, bias: 6 },
};

class IntegerGraph {
  readonly #tensors: ReadonlyMap<string, StoredTensor>;
  readonly #nodes: readonly StoredNode[];
  readonly #found = new Map<string, NamedTensor>();

  constructor(tensors: readonly StoredTensor[], nodes: readonly StoredNode[]) {
    this.#tensors = new Map(tensors.map((tensor) => [tensor.name, tensor]));
    this.#nodes = nodes;
  }

  weights(): ReadonlyMap<string, NamedTensor> {
    for (const node of this.#nodes) this.#linear(node);
    for (const tensor of this.#tensors.values()) {
      const { name, dims } = tensor;
      const table = name.replace(/\.(?:integers|packed)$/u, '');
      if (name.endsWith('.packed')) this.#add(table, this.#packed(tensor, table));
      else if (name.endsWith('.integers') && !this.#found.has(table)) this.#add(table, this.#rows(tensor, table));
      else if (tensor.dataType === ElementTypeCode.float32) this.#add(name, { shape: dims, values: floats(tensor) });
    }
    return this.#found;
  }

  #add(name: string, tensor: NamedTensor): void {
    if (!this.#found.has(name)) this.#found.set(name, tensor);
  }

  #linear({ opType, input }: StoredNode): void {
    const form = LINEAR[opType];
    if (form === undefined) return;
    const integers = this.#tensor(input[form.integers] ?? '');
    const scaleName = input[form.scales] ?? '';
    const weight = integers.name.replace(/\.integers$/u, '');
    if (this.#found.has(weight)) return;
    const stored = floats(this.#tensor(scaleName));
    const factor = factorOf(scaleName);
    const scales = stored.map((scale) => scale / factor);
    const [inputs = 0, outputs = 0] = integers.dims;
    this.#add(weight, {
      shape: [outputs, inputs],
      values: restoredFactor({ integers: bytesOf(integers), scales }),
    });
    const biasName = input[form.bias];
    if (biasName) this.#add(biasOf(weight), { shape: [outputs], values: this.#bias(input, form, stored) });
  }

  #bias(input: readonly string[], form: LinearForm, scales: Float32Array): Float32Array {
    const bias = this.#tensor(input[form.bias] ?? '');
    if (form.inputScale === undefined) {
      const factor = factorOf(bias.name);
      return floats(bias).map((value) => value / factor);
    }
    const [step = 0] = floats(this.#tensor(input[form.inputScale] ?? ''));
    return scales.map((scale, at) => steps(bias, at) * step * scale);
  }

  #packed({ rawData }: StoredTensor, table: string): NamedTensor {
    const rowScales = floats(this.#tensor(`${table}.scales`));
    const columnScales = floats(this.#tensor(`${table}.columns`));
    const values = unpackedRows({ bytes: rawData, rowScales, columnScales });
    return { shape: [rowScales.length, columnScales.length], values };
  }

  #rows(tensor: StoredTensor, table: string): NamedTensor {
    const scales = floats(this.#tensor(`${table}.scales`));
    return { shape: tensor.dims, values: restoredRows({ integers: bytesOf(tensor), scales }) };
  }

  #tensor(name: string): StoredTensor {
    const tensor = this.#tensors.get(name);
    if (tensor === undefined) throw new Error(`lacks the tensor ${JSON.stringify(name)}`);
    return tensor;
  }
}

/** A layer's output may be multiplied by a number, which the stored scales contain; their name ends with it. */
const factorOf = (name: string): number => Number(/ (?<factor>[-+.e\d]+)$/u.exec(name)?.groups?.factor ?? 1);

const biasOf = (weight: string): string => weight.replace(/weight$/u, 'bias');

/** Of little-endian numbers, as the format has them. */
function floats({ rawData }: StoredTensor): Float32Array {
  const view = new DataView(rawData.buffer, rawData.byteOffset, rawData.byteLength);
  return Float32Array.from({ length: rawData.byteLength / 4 }, (_, at) => view.getFloat32(4 * at, true));
}

const bytesOf = ({ rawData: { buffer, byteOffset, byteLength } }: StoredTensor): Int8Array =>
  new Int8Array(buffer, byteOffset, byteLength);

function steps({ rawData }: StoredTensor, at: number): number {
  return new DataView(rawData.buffer, rawData.byteOffset, rawData.byteLength).getInt32(4 * at, true);
}
