import { readFile } from 'node:fs/promises';
import { emitBatchMatMul } from './lowering.js';
import { OnnxBuilder } from './onnx-builder.js';
import { decodeModel, modelPieces, type StoredNode } from './schema.js';

/** The files that this library writes are made for the CPU: devices don't know FusedMatMul. */

/** Part of the names that are added; no name of the file contains it. */
const MARK = '~device~';

/** Operations whose result has as many dimensions as their largest operand. */
const ELEMENTWISE: readonly string[] = ['Add', 'Mul', 'Sub', 'Div', 'Softmax', 'FusedMatMul'];

/** @returns undefined for a file that needs no change, or that this library did not write. */
export async function deviceModel(path: string): Promise<Uint8Array | undefined> {
  const model = decodeModel(await readFile(path));
  if (model === undefined) return undefined;
  const { graph } = model;
  const ranks = new Ranks();
  for (const { name, dims } of graph.initializer) ranks.addInitializer(name, dims);
  const builder = new OnnxBuilder([], 'computed', MARK);
  const node = graph.node.flatMap((each): object[] => {
    const rank = ranks.addNode(each);
    if (each.opType !== 'FusedMatMul' || rank === undefined) return [each];
    const emitted = builder.nodes.length;
    emitProduct(builder, each, rank);
    return builder.nodes.slice(emitted);
  });
  if (builder.nodes.length === 0) return undefined;
  const initializer = [...graph.initializer, ...builder.initializers];
  return Buffer.concat([...modelPieces({ ...model, graph: { ...graph, node, initializer } })]);
}

class Ranks {
  readonly #ranks = new Map<string, number>();
  readonly #lengths = new Map<string, number>();

  addInitializer(name: string, dims: readonly number[]): void {
    this.#ranks.set(name, dims.length);
    if (dims.length === 1) this.#lengths.set(name, dims[0] ?? 0);
  }

  /** @returns the number of dimensions of the node's first output, where it follows from what came before. */
  addNode(node: StoredNode): number | undefined {
    const [output = ''] = node.output;
    // The sizes of a shape, put together one by one.
    if (node.opType === 'Concat') this.#lengths.set(output, node.input.length);
    const rank = this.#rankOf(node);
    if (rank !== undefined) this.#ranks.set(output, rank);
    return rank;
  }

  #rankOf({ opType, input, attribute }: StoredNode): number | undefined {
    if (opType === 'Reshape') return this.#lengths.get(input[1] ?? '');
    if (opType === 'Transpose') return attribute.find(({ name }) => name === 'perm')?.ints?.length;
    if (!ELEMENTWISE.includes(opType)) return undefined;
    const ranks = input.flatMap((name) => this.#ranks.get(name) ?? []);
    return ranks.length === 0 ? undefined : Math.max(...ranks);
  }
}

function emitProduct(builder: OnnxBuilder, { attribute, input, output }: StoredNode, rank: number): void {
  const named = (name: string) => attribute.find((each) => each.name === name);
  const isSet = (name: string) => named(name)?.i === 1;
  emitBatchMatMul(builder, {
    rank,
    inputs: input,
    outputs: output,
    attributes: {
      transposeA: isSet('transA'),
      transposeB: isSet('transB'),
      rowsFirstA: isSet('transBatchA'),
      rowsFirstB: isSet('transBatchB'),
      alpha: named('alpha')?.f ?? 1,
    },
    scalesLeft: true,
  });
}
