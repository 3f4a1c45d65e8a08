import type { InferenceSession, Tensor } from 'onnxruntime-node';
import type { CompiledGraph, LoadedGraph, TensorData, TensorDescription } from '../executor.js';
import { checkFeeds, checkOutputs, type Sizes } from '../feeds.js';
import type { ElementType } from '../node.js';
import { resolveShape, type Shape, ShapeError } from '../shape.js';
import type { Runtime, Session } from './runtime.js';

/** A session of the runtime, with its inputs and outputs. */
interface OnnxGraphParts {
  readonly session: Session;
  readonly fed: readonly TensorDescription[];
  readonly outputs: ReadonlyMap<string, Omit<TensorDescription, 'name'>>;
  /** Inputs that are fed the sizes of these shapes. Default: none. */
  readonly shapeInputs?: ReadonlyMap<string, Shape>;
}

const NO_SHAPES: ReadonlyMap<string, Shape> = new Map();

export class OnnxGraph implements CompiledGraph {
  readonly #parts: OnnxGraphParts;
  /** Wrappers around buffers that are passed again at every run, such as the parameters. */
  readonly #wrappers = new WeakMap<TensorData, Tensor>();

  constructor(parts: OnnxGraphParts) {
    this.#parts = parts;
  }

  async run(feeds: Readonly<Record<string, TensorData>>, outputs: Readonly<Record<string, TensorData>>): Promise<void> {
    const { session, fed, shapeInputs = NO_SHAPES } = this.#parts;
    session.requireOpen();
    const sizes = checkFeeds(fed, feeds);
    checkOutputs(this.#parts.outputs, outputs, sizes);
    const given = { ...this.#wrapAll(feeds), ...shapeFeeds(session.runtime, shapeInputs, sizes) };
    await session.run(given, this.#wrapAll(outputs));
  }

  async release(): Promise<void> {
    await this.#parts.session.release();
  }

  #wrapAll(tensors: Readonly<Record<string, TensorData>>): Record<string, Tensor> {
    const wrapped: Record<string, Tensor> = {};
    for (const name in tensors) {
      const tensor = tensors[name];
      if (tensor !== undefined) wrapped[name] = this.#wrap(tensor);
    }
    return wrapped;
  }

  #wrap(tensor: TensorData): Tensor {
    const known = this.#wrappers.get(tensor);
    if (known !== undefined) return known;
    const wrapper = toOrtTensor(this.#parts.session.runtime, tensor);
    this.#wrappers.set(tensor, wrapper);
    return wrapper;
  }
}

/** A session of an ONNX file, which says what its inputs and outputs are. */
export class OnnxFile extends OnnxGraph implements LoadedGraph {
  readonly inputs: readonly TensorDescription[];
  readonly outputs: readonly TensorDescription[];

  constructor(
    session: Session,
    readonly bytes: number,
  ) {
    const inputs = session.inputs.map(described);
    const outputs = session.outputs.map(described);
    super({ session, fed: inputs, outputs: new Map(outputs.map((each) => [each.name, each])) });
    this.inputs = inputs;
    this.outputs = outputs;
  }
}

const ELEMENT_TYPES: readonly ElementType[] = ['float32', 'int32', 'int64'];

function described(value: InferenceSession.ValueMetadata): TensorDescription {
  // Feeds and outputs are objects by name.
  if (value.name in Object.prototype) {
    throw new ShapeError(`the ONNX file has a tensor called ${value.name}, as a property of every object is`);
  }
  const type = ELEMENT_TYPES.find((each) => value.isTensor && each === value.type);
  if (!value.isTensor || type === undefined) {
    throw new ShapeError(`${value.name} of the ONNX file is not a tensor of ${ELEMENT_TYPES.join(' or ')}`);
  }
  const shape: Shape = value.shape;
  return { name: value.name, type, shape };
}

/** The constructor has one overload per element type, hence the branches. */
export function toOrtTensor({ Tensor }: Runtime, tensor: TensorData): Tensor {
  if (tensor.type === 'float32') return new Tensor('float32', tensor.data, tensor.dims);
  if (tensor.type === 'int32') return new Tensor('int32', tensor.data, tensor.dims);
  return new Tensor('int64', tensor.data, tensor.dims);
}

/** Feeds for the inputs that take the sizes of shapes. */
export function shapeFeeds(
  runtime: Runtime,
  shapeInputs: ReadonlyMap<string, Shape>,
  sizes: Sizes,
): Record<string, Tensor> {
  const tensors = [...shapeInputs].map(([name, shape]) => {
    const data = BigInt64Array.from(resolveShape(shape, sizes), BigInt);
    return [name, toOrtTensor(runtime, { type: 'int64', dims: [shape.length], data })] as const;
  });
  return Object.fromEntries(tensors);
}
