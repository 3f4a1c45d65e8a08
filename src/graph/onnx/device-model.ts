/**
 * Files as devices take them. What we write is made for the CPU: FusedMatMul, which reads operands as they are stored, is
 * unknown to devices, and each would send its operands to the CPU and back.
 */
import { open } from 'node:fs/promises';
import { emitBatchMatMul } from './lowering.js';
import { OnnxBuilder } from './onnx-builder.js';
import { encodeGraphFields, PRODUCER } from './schema.js';
import { type Span, varint, type WireField, WireFile } from './wire-file.js';

/** Field numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto */
const Model = { graph: 7, producer: 2 } as const;
const Graph = { node: 1, initializer: 5 } as const;
const Node = { input: 1, output: 2, operation: 4, attribute: 5 } as const;
const Attribute = { name: 1, float: 2, int: 3, ints: 8 } as const;
const Tensor = { dims: 1, name: 8 } as const;

const MAX_NAME_BYTES = 4096;
/** No name of the file has it. */
const MARK = '~device~';
/** Of a field that is a message or a text. */
const SPAN = 2;

/** Operations whose result has as many dimensions as their largest operand. */
const ELEMENTWISE: readonly string[] = ['Add', 'Mul', 'Sub', 'Div', 'Softmax', 'FusedMatMul'];

/**
 * The bytes of a model of ours with its FusedMatMuls written as Transpose, MatMul and Mul.
 * @returns undefined for a file that needs no change, or isn't ours.
 */
export async function deviceModel(path: string): Promise<Uint8Array | undefined> {
  const file = await open(path);
  try {
    const bytes = await file.readFile();
    return new DeviceModel(new WireFile(file.fd, bytes.length), bytes).rewritten();
  } finally {
    await file.close();
  }
}

interface FoundNode extends Span {
  /** Where the field with it begins. */
  readonly start: number;
  readonly operation: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: ReadonlyMap<string, number>;
  /** Numbers of its attributes that are lists, by name. */
  readonly lists: ReadonlyMap<string, number>;
}

class DeviceModel {
  readonly #file: WireFile;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  /** Dimensions of each tensor, where they are known. */
  readonly #ranks = new Map<string, number>();
  /** Numbers that vectors hold, which are shapes. */
  readonly #lengths = new Map<string, number>();

  constructor(file: WireFile, bytes: Uint8Array) {
    this.#file = file;
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  async rewritten(): Promise<Uint8Array | undefined> {
    const fields = this.#fields({ from: 0, to: this.#bytes.length });
    const graph = fields.find(({ number }) => number === Model.graph);
    const producer = fields.find(({ number }) => number === Model.producer);
    if (graph === undefined || producer === undefined || this.#text(producer) !== PRODUCER) return undefined;
    const parts = await this.#graph(graph);
    if (parts === undefined) return undefined;
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    return Buffer.concat([
      this.#bytes.subarray(0, graph.start),
      Uint8Array.of(Model.graph * 8 + SPAN, ...varint(length)),
      ...parts,
      this.#bytes.subarray(graph.to),
    ]);
  }

  /** The graph's fields; undefined if none is to be changed. */
  async #graph(graph: Span): Promise<Uint8Array[] | undefined> {
    const fields = this.#fields(graph);
    for (const field of fields) if (field.number === Graph.initializer) this.#noteInitializer(field);
    const builder = new OnnxBuilder([], 'computed', MARK);
    const parts: Uint8Array[] = [];
    let from = graph.from;
    for (const field of fields) {
      if (field.number !== Graph.node) continue;
      const node = this.#node(field);
      const rank = this.#noteRank(node);
      if (node.operation !== 'FusedMatMul' || rank === undefined) continue;
      parts.push(this.#bytes.subarray(from, node.start));
      from = node.to;
      const emitted = builder.nodes.length;
      emitProduct(builder, node, rank);
      parts.push(await encodeGraphFields(builder.nodes.slice(emitted), []));
    }
    if (parts.length === 0) return undefined;
    parts.push(this.#bytes.subarray(from, graph.to), await encodeGraphFields([], builder.initializers));
    return parts;
  }

  #node(field: WireField & { readonly start: number }): FoundNode {
    const fields = this.#fields(field);
    const texts = (number: number) =>
      fields.filter((each) => each.number === number).map((each) => this.#text(each));
    const attributes = new Map<string, number>();
    const lists = new Map<string, number>();
    for (const each of fields.filter(({ number }) => number === Node.attribute)) {
      const parts = this.#fields(each);
      const named = parts.find(({ number }) => number === Attribute.name);
      const name = named === undefined ? '' : this.#text(named);
      for (const part of parts) {
        if (part.number === Attribute.int) attributes.set(name, part.value);
        if (part.number === Attribute.float) attributes.set(name, this.#view.getFloat32(part.from, true));
        if (part.number !== Attribute.ints) continue;
        lists.set(name, (lists.get(name) ?? 0) + [...this.#file.numbers(part)].length);
      }
    }
    const [operation = ''] = texts(Node.operation);
    const { start, from, to } = field;
    return {
      start,
      from,
      to,
      operation,
      inputs: texts(Node.input),
      outputs: texts(Node.output),
      attributes,
      lists,
    };
  }

  #noteInitializer(field: Span): void {
    const fields = this.#fields(field);
    const dims = fields
      .filter(({ number }) => number === Tensor.dims)
      .flatMap((each) => [...this.#file.numbers(each)]);
    const named = fields.find(({ number }) => number === Tensor.name);
    if (named === undefined) return;
    const name = this.#text(named);
    this.#ranks.set(name, dims.length);
    if (dims.length === 1) this.#lengths.set(name, dims[0] ?? 0);
  }

  /** @returns the number of dimensions of the node's first output, where it follows from what came before. */
  #noteRank({ operation, inputs, outputs, lists }: FoundNode): number | undefined {
    const [output = ''] = outputs;
    // The sizes of a shape, put together one by one.
    if (operation === 'Concat') this.#lengths.set(output, inputs.length);
    const rank = this.#rankOf(operation, inputs, lists);
    if (rank !== undefined) this.#ranks.set(output, rank);
    return rank;
  }

  #rankOf(
    operation: string,
    inputs: readonly string[],
    lists: ReadonlyMap<string, number>,
  ): number | undefined {
    if (operation === 'Reshape') return this.#lengths.get(inputs[1] ?? '');
    if (operation === 'Transpose') return lists.get('perm');
    if (!ELEMENTWISE.includes(operation)) return undefined;
    const ranks = inputs.flatMap((name) => this.#ranks.get(name) ?? []);
    return ranks.length === 0 ? undefined : Math.max(...ranks);
  }

  /** With where each begins, its tag included. */
  #fields(span: Span): (WireField & { readonly start: number })[] {
    let start = span.from;
    return [...this.#file.fields(span)].map((field) => {
      const found = { ...field, start };
      start = field.to;
      return found;
    });
  }

  #text(span: Span): string {
    return this.#file.text(span, MAX_NAME_BYTES);
  }
}

function emitProduct(builder: OnnxBuilder, { attributes, inputs, outputs }: FoundNode, rank: number): void {
  const isSet = (name: string) => attributes.get(name) === 1;
  emitBatchMatMul(builder, {
    ...{ rank, inputs, outputs },
    attributes: {
      transposeA: isSet('transA'),
      transposeB: isSet('transB'),
      rowsFirstA: isSet('transBatchA'),
      rowsFirstB: isSet('transBatchB'),
      alpha: attributes.get('alpha') ?? 1,
    },
    scalesLeft: true,
  });
}
