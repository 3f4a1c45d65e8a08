import type { ElementType, Tensor } from '../node.js';
import { type Dimension, numeral, type Shape, ShapeError, symbolsOf, volume } from '../shape.js';
import { AttributeTypeCode, ElementTypeCode, EXTERNAL_DATA, type NodeProto, type TensorProto } from './schema.js';

type OnnxAttribute =
  | { readonly int: number }
  | { readonly float: number }
  | { readonly ints: readonly number[] }
  | { readonly text: string };

/** Collects the nodes and initializers of one ONNX graph. */
export class OnnxBuilder {
  readonly nodes: NodeProto[] = [];
  readonly initializers: TensorProto[] = [];
  /** Shapes that every run feeds as int64 vectors, by the names of their inputs; none unless they are `fed`. */
  readonly shapeInputs = new Map<string, Shape>();
  readonly #inputs: readonly Tensor[];
  readonly #shapes: 'computed' | 'fed';
  readonly #mark: string;
  readonly #memo = new Map<string, string>();
  #fresh = 0;

  /** @param mark between the words of the names that it makes, and their numbers. */
  constructor(inputs: readonly Tensor[], shapes: 'computed' | 'fed' = 'computed', mark = '~') {
    this.#inputs = inputs;
    this.#shapes = shapes;
    this.#mark = mark;
  }

  node(
    opType: string,
    input: readonly string[],
    output: readonly string[],
    attributes: Readonly<Record<string, OnnxAttribute>> = {},
    domain = '',
  ): void {
    this.nodes.push({
      opType,
      domain,
      name: `${opType}${this.#mark === '~' ? '_' : this.#mark}${this.nodes.length}`,
      input,
      output,
      attribute: Object.entries(attributes).map(([name, value]) => toAttributeProto(name, value)),
    });
  }

  /** Adds a node with one output. @returns the output's name. */
  computed(opType: string, input: readonly string[], attributes: Readonly<Record<string, OnnxAttribute>> = {}): string {
    const name = this.fresh(opType);
    this.node(opType, input, [name], attributes);
    return name;
  }

  fresh(stem: string): string {
    this.#fresh += 1;
    return `${stem}${this.#mark}${this.#fresh}`;
  }

  elementType(type: ElementType): number {
    return ElementTypeCode[type];
  }

  initializer(name: string, type: keyof typeof ElementTypeCode, dims: readonly number[], data: ArrayBufferView): void {
    const rawData = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    this.initializers.push({ name, dataType: ElementTypeCode[type], dims, rawData });
  }

  /** An initializer of float32 that lies in a file; the session option names the file's folder. @param offset in bytes. */
  storedInitializer(name: string, dims: readonly number[], file: string, offset: number): void {
    const entries = { location: file, offset, length: Float32Array.BYTES_PER_ELEMENT * volume(dims) };
    this.initializers.push({
      name,
      dataType: ElementTypeCode.float32,
      dims,
      externalData: Object.entries(entries).map(([key, value]) => ({ key, value: String(value) })),
      dataLocation: EXTERNAL_DATA,
    });
  }

  /** Adds an initializer, unless one of this name was added so before. @returns the name. */
  initializerOnce(
    name: string,
    type: keyof typeof ElementTypeCode,
    dims: readonly number[],
    compute: () => ArrayBufferView,
  ): string {
    if (!this.#memo.has(name)) this.initializer(name, type, dims, compute());
    this.#memo.set(name, name);
    return name;
  }

  floats(values: readonly number[], dims: readonly number[]): string {
    return this.once(`float32[${dims.join()}]${values.join()}`, (name) =>
      this.initializer(name, 'float32', dims, Float32Array.from(values)),
    );
  }

  /** The name of an int64 vector, as ONNX takes axes and shapes. */
  integers(values: readonly number[]): string {
    return this.once(`int64 ${values.join()}`, (name) =>
      this.initializer(name, 'int64', [values.length], BigInt64Array.from(values, BigInt)),
    );
  }

  byte(value: number): string {
    return this.once(`uint8 ${value}`, (name) => this.initializer(name, 'uint8', [], Uint8Array.of(value)));
  }

  scalar(value: number): string {
    return this.once(`int64 scalar ${value}`, (name) =>
      this.initializer(name, 'int64', [], BigInt64Array.of(BigInt(value))),
    );
  }

  /** The name of an int64 vector that holds this shape at run time. */
  shape(shape: Shape): string {
    if (shape.every((dimension) => typeof dimension === 'number')) return this.integers(shape);
    if (this.#shapes === 'fed') {
      return this.once(`shape ${shape.join()}`, (name) => this.shapeInputs.set(name, shape));
    }
    const [first = 1, ...rest] = shape;
    if (rest.length === 0) return this.#dimension(first);
    return this.once(`shape ${shape.join()}`, (name) =>
      this.node(
        'Concat',
        shape.map((dimension) => this.#dimension(dimension)),
        [name],
        { axis: { int: 0 } },
      ),
    );
  }

  /** The same for Reshape, which can infer one dimension. */
  target(shape: Shape): string {
    const known = shape.map((dimension) => (typeof dimension === 'number' ? dimension : -1));
    return known.filter((dimension) => dimension < 0).length === 1 ? this.integers(known) : this.shape(shape);
  }

  rowOfOnes(count: Dimension): string {
    return this.once(`ones ${count}`, (name) =>
      this.node('Expand', [this.floats([1], [1, 1]), this.shape([1, count])], [name]),
    );
  }

  /** The name of a one-element int64 vector that holds this dimension at run time. */
  #dimension(dimension: Dimension): string {
    if (typeof dimension === 'number') return this.integers([dimension]);
    const known = numeral(dimension);
    if (known !== undefined) return this.integers([known]);
    return this.once(`dimension ${dimension}`, (name) => {
      const [first = '', ...others] = symbolsOf(dimension);
      if (others.length === 0) this.#readDimension(first, name);
      else this.node('Mul', [this.#dimension(first), this.#dimension(others.join('*'))], [name]);
    });
  }

  #readDimension(symbol: string, name: string): void {
    for (const input of this.#inputs) {
      const axis = input.shape.indexOf(symbol);
      if (axis < 0) continue;
      this.node('Shape', [input.name], [name], { start: { int: axis }, end: { int: axis + 1 } });
      return;
    }
    throw new ShapeError(`no input has the dimension ${symbol}`);
  }

  /** Makes a tensor, unless one was made under this key before. @returns its name. */
  once(key: string, make: (name: string) => void): string {
    const known = this.#memo.get(key);
    if (known !== undefined) return known;
    const name = this.fresh('value');
    this.#memo.set(key, name);
    make(name);
    return name;
  }
}

function toAttributeProto(name: string, value: OnnxAttribute) {
  if ('float' in value) return { name, type: AttributeTypeCode.float, f: value.float };
  if ('ints' in value) return { name, type: AttributeTypeCode.ints, ints: value.ints };
  if ('text' in value) return { name, type: AttributeTypeCode.string, s: new TextEncoder().encode(value.text) };
  return { name, type: AttributeTypeCode.int, i: value.int };
}
