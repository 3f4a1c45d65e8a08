import { closeSync, openSync, readSync } from 'node:fs';
import type { CompileOptions, Feed, StoredWeights, TensorData, TensorDescription } from './executor.js';
import type { Graph } from './graph.js';
import { type ElementType, nodesFor, type Tensor } from './node.js';
import { resolveShape, type Shape, ShapeError, symbolsOf, volume } from './shape.js';

/** What a run of a graph is fed and writes, and its checks. */

/** Values of the symbols in shapes, in one run. */
export type Sizes = Readonly<Record<string, number>>;

/**
 * Checks that every tensor is fed with its type and shape, and that nothing else is fed.
 * @returns the values of the shapes' symbols.
 * @throws ShapeError that names the feed and what is expected of it.
 */
export function checkFeeds(tensors: readonly TensorDescription[], feeds: Readonly<Record<string, Feed>>): Sizes {
  const known = new Set(tensors.map(({ name }) => name));
  for (const name of Object.keys(feeds)) {
    if (!known.has(name)) throw new ShapeError(`feed ${name} is not an input of the graph`);
  }
  const sizes = sizesOf(tensors, feeds);
  for (const { name, type, shape } of tensors) {
    const feed = feeds[name];
    if (feed === undefined) throw new ShapeError(`feed ${name} is missing`);
    if (feed.type !== type) throw new ShapeError(`feed ${name} is ${feed.type}, but the graph takes ${type}`);
    if (feed.dims.join() !== resolveShape(shape, sizes).join()) {
      throw wrongDims(`feed ${name}`, feed.dims, shape);
    }
    if ('data' in feed) checkLength(`feed ${name}`, feed);
  }
  return sizes;
}

/**
 * The size of each symbol, from the first feed that has the symbol as a dimension; products of symbols are
 * skipped.
 */
export function sizesOf(tensors: readonly TensorDescription[], feeds: Readonly<Record<string, Feed>>): Sizes {
  const sizes = new Map<string, number>();
  for (const { name, shape } of tensors) {
    for (const [axis, dimension] of shape.entries()) {
      const size = feeds[name]?.dims[axis];
      if (typeof dimension === 'number' || size === undefined) continue;
      if (symbolsOf(dimension).length === 1 && !sizes.has(dimension)) sizes.set(dimension, size);
    }
  }
  return Object.fromEntries(sizes);
}

/** Checks that every output has a buffer of its type and exact shape and length. @throws ShapeError */
export function checkOutputs(
  outputs: ReadonlyMap<string, Omit<TensorDescription, 'name'>>,
  buffers: Readonly<Record<string, TensorData>>,
  sizes: Sizes,
): void {
  for (const [name, { type, shape }] of outputs) {
    const buffer = buffers[name];
    if (buffer === undefined) throw new ShapeError(`output ${name} has no buffer`);
    if (buffer.type !== type) throw new ShapeError(`output ${name} is ${type}, but its buffer ${buffer.type}`);
    const dims = resolveShape(shape, sizes);
    if (dims.join() !== buffer.dims.join()) throw wrongDims(`the buffer of output ${name}`, buffer.dims, dims);
    checkLength(`the buffer of output ${name}`, buffer);
  }
}

function checkLength(what: string, { dims, data }: TensorData): void {
  if (data.length === volume(dims)) return;
  throw new ShapeError(`${what} is [${dims.join(', ')}], but holds ${data.length} numbers`);
}

function wrongDims(what: string, dims: readonly number[], shape: Shape): ShapeError {
  return new ShapeError(`${what} is [${dims.join(', ')}], but the graph expects [${shape.join(', ')}]`);
}

/** What a run must feed: every input, and every parameter without fixed values that the outputs depend on. */
export function fedTensors(
  graph: Graph,
  { weights, stored }: Pick<CompileOptions, 'weights' | 'stored'> = {},
): Tensor[] {
  const outputs = [...graph.outputs.values()];
  const isFixed = (name: string) => weights?.has(name) || stored?.offsets.has(name);
  const used = new Set([...outputs, ...nodesFor(outputs).flatMap(({ inputs }) => inputs)]);
  const parameters = graph.parameters.filter((each) => used.has(each) && !isFixed(each.name));
  return [...graph.inputs, ...parameters];
}

/** A tensor of zeros. */
export function emptyTensor(type: ElementType, dims: readonly number[]): TensorData {
  const count = volume(dims);
  if (type === 'float32') return { type, dims, data: new Float32Array(count) };
  if (type === 'int32') return { type, dims, data: new Int32Array(count) };
  return { type, dims, data: new BigInt64Array(count) };
}

/**
 * Reads one weight.
 * @param count of its numbers.
 * @throws RangeError if it isn't stored; Error if the file ends before it does, or the file system's.
 */
export function readStoredWeight({ file, offsets }: StoredWeights, name: string, count: number): Float32Array {
  const offset = offsets.get(name);
  if (offset === undefined) throw new RangeError(`${file} has no weight ${name}`);
  const values = new Float32Array(count);
  const bytes = new Uint8Array(values.buffer);
  const descriptor = openSync(file, 'r');
  try {
    for (let read = 0; read < bytes.length; ) {
      const more = readSync(descriptor, bytes, read, bytes.length - read, offset + read);
      if (more === 0) throw new Error(`${file} ends within the weight ${name}`);
      read += more;
    }
  } finally {
    closeSync(descriptor);
  }
  return values;
}
