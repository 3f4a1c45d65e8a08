import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isOrchardError, ModelFolderError, messageOf } from '../../contract/index.js';
import { fileWithin } from '../../system/index.js';
import { type Span, type WireField, WireFile } from './wire-file.js';

/**
 * Checks of an ONNX file before the runtime reads it: that it is one, that its tensors have as many numbers as their shapes
 * say, that data outside the file stays in its folder, and that nothing in it can run forever. The memory and time that its
 * operations take can't be known without running them.
 */

/** Of protobuf messages: 2 GiB. */
const MAX_BYTES = 2 ** 31 - 1;
/** Operations; an encoder of 48 layers has some 2,000. */
const MAX_NODES = 100_000;
/** Of a setting of an operation, positive or negative, in 64 bits; widths and axes are far below. */
const MAX_INTEGER = 2 ** 20;
const MAX_NAME_BYTES = 4096;
const MAX_DIMENSIONS = 16;

/** Whose operations the runtime has built in. */
const DOMAINS: readonly string[] = ['', 'ai.onnx', 'ai.onnx.ml', 'com.microsoft'];

/** Field numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto */
const Model = { graph: 7, functions: 25 } as const;
const Graph = { node: 1, initializer: 5, sparse: 15 } as const;
const Node = { operation: 4, attribute: 5, domain: 7 } as const;
const Attribute = {
  int: 3,
  ints: 8,
  tensor: 5,
  graph: 6,
  tensors: 10,
  graphs: 11,
  sparse: 22,
  sparses: 23,
} as const;
const Tensor = { dims: 1, type: 2, raw: 9, external: 13, location: 14 } as const;
const Entry = { key: 1, value: 2 } as const;

/** Bytes per number by ONNX's code of the type; types of less than a byte and texts have none here. */
const widths: ReadonlyMap<number, number> = new Map([
  [1, 4],
  [2, 1],
  [3, 1],
  [4, 2],
  [5, 2],
  [6, 4],
  [7, 8],
  [9, 1],
  [10, 2],
  [11, 8],
  [12, 4],
  [13, 8],
  [16, 2],
]);

/** Where a tensor's numbers are, if they aren't in the file itself. */
interface ExternalData {
  readonly location: string;
  readonly offset: number;
  readonly length: number;
}

/** @returns its bytes. @throws ModelFolderError */
export function checkOnnxFile(path: string): number {
  try {
    const found = statSync(path);
    if (!found.isFile()) throw new Error('it is not a file');
    if (found.size > MAX_BYTES) throw new Error(`it has ${found.size} bytes; at most ${MAX_BYTES} are read`);
    for (const data of externalData(path, found.size)) checkExternal(path, data);
    return found.size;
  } catch (cause) {
    if (isOrchardError(cause)) throw cause;
    const reason = messageOf(cause);
    throw new ModelFolderError(path, `the graph can't be loaded: ${reason}`, { cause });
  }
}

function checkExternal(path: string, { location, offset, length }: ExternalData): void {
  const { bytes } = fileWithin(dirname(path), location, Number.MAX_SAFE_INTEGER);
  if (offset + length <= bytes) return;
  throw new Error(`a tensor is at byte ${offset} of ${location}, which has ${bytes} bytes`);
}

function externalData(path: string, bytes: number): readonly ExternalData[] {
  const file = openSync(path, 'r');
  try {
    const read = (into: Uint8Array, at: number) => readSync(file, into, 0, into.length, at);
    return new OnnxCheck(new WireFile(read, bytes)).check();
  } finally {
    closeSync(file);
  }
}

class OnnxCheck {
  readonly #file: WireFile;
  readonly #external: ExternalData[] = [];
  #nodes = 0;

  constructor(file: WireFile) {
    this.#file = file;
  }

  check(): readonly ExternalData[] {
    let graphs = 0;
    for (const field of this.#file.fields({ from: 0, to: this.#file.bytes })) {
      if (field.number === Model.functions) throw new Error('it defines operations of its own');
      if (field.number !== Model.graph) continue;
      graphs += 1;
      this.#graph(field);
    }
    if (graphs !== 1) throw new Error(`it has ${graphs} graphs`);
    return this.#external;
  }

  #graph(graph: Span): void {
    for (const field of this.#file.fields(graph)) {
      if (field.number === Graph.node) this.#node(field);
      else if (field.number === Graph.initializer) this.#tensor(field);
      else if (field.number === Graph.sparse) throw new Error('it has sparse tensors');
    }
  }

  #node(node: Span): void {
    this.#nodes += 1;
    if (this.#nodes > MAX_NODES) throw new Error(`it has more than ${MAX_NODES} operations`);
    for (const field of this.#file.fields(node)) {
      if (field.number === Node.attribute) this.#attribute(field);
      else if (field.number === Node.domain) this.#domain(this.#file.text(field, MAX_NAME_BYTES));
      else if (field.number === Node.operation) this.#file.text(field, MAX_NAME_BYTES);
    }
  }

  #domain(domain: string): void {
    if (DOMAINS.includes(domain)) return;
    throw new Error(`it has operations of ${JSON.stringify(domain.slice(0, 100))}, which the runtime lacks`);
  }

  #attribute(attribute: Span): void {
    for (const field of this.#file.fields(attribute)) {
      const { number } = field;
      if (number === Attribute.int || number === Attribute.ints) this.#integers(field);
      else if (number === Attribute.tensor || number === Attribute.tensors) this.#tensor(field);
      else if (number === Attribute.graph || number === Attribute.graphs) {
        throw new Error('it has loops or branches, which no encoder needs');
      } else if (number === Attribute.sparse || number === Attribute.sparses) {
        throw new Error('it has sparse tensors');
      }
    }
  }

  /** Axes, types, numbers of heads: the runtime crashes at some that are too large for 32 bits. */
  #integers(field: WireField): void {
    for (const value of this.#file.numbers(field)) {
      if (Math.abs(value) <= MAX_INTEGER) continue;
      throw new Error(`it has an operation with the setting ${value}`);
    }
  }

  #tensor(tensor: Span): void {
    const dims: number[] = [];
    let type = 0;
    let raw: Span | undefined;
    let isExternal = false;
    const entries: Span[] = [];
    for (const field of this.#file.fields(tensor)) {
      if (field.number === Tensor.dims) {
        for (const dimension of this.#file.numbers(field)) dims.push(dimension);
        if (dims.length > MAX_DIMENSIONS) throw new Error('it has a tensor of too many dimensions');
      } else if (field.number === Tensor.type) type = field.value;
      else if (field.number === Tensor.raw) raw = field;
      else if (field.number === Tensor.external) entries.push(field);
      else if (field.number === Tensor.location) isExternal = field.value !== 0;
    }
    this.#checkSize(dims, type, raw);
    if (isExternal || entries.length > 0) this.#external.push(this.#externalOf(entries));
  }

  #checkSize(dims: readonly number[], type: number, raw: Span | undefined): void {
    const described = `it has a tensor of the shape [${dims.join(', ')}]`;
    if (dims.some((dimension) => dimension < 0 || dimension > MAX_BYTES)) throw new Error(described);
    const width = widths.get(type);
    if (raw === undefined || width === undefined) return;
    const bytes = dims.reduce((product, dimension) => product * dimension, width);
    if (raw.to - raw.from !== bytes)
      throw new Error(`${described}, with ${raw.to - raw.from} bytes instead of ${bytes}`);
  }

  #externalOf(entries: readonly Span[]): ExternalData {
    const values = new Map(entries.map((entry) => this.#entry(entry)));
    const numberOf = (name: string) => {
      const value = Number(values.get(name) ?? 0);
      if (Number.isSafeInteger(value) && value >= 0) return value;
      throw new Error(`the ${name} of a tensor's data is ${value}`);
    };
    return { location: values.get('location') ?? '', offset: numberOf('offset'), length: numberOf('length') };
  }

  #entry(entry: Span): [string, string] {
    let [key, value] = ['', ''];
    for (const field of this.#file.fields(entry)) {
      if (field.number === Entry.key) key = this.#file.text(field, MAX_NAME_BYTES);
      else if (field.number === Entry.value) value = this.#file.text(field, MAX_NAME_BYTES);
    }
    return [key, value];
  }
}
