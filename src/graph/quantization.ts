import type { Graph } from './graph.js';
import type { NodeOf } from './node.js';
import { nodesFor } from './node-order.js';
import type { OperationName } from './operations/index.js';
import type { Tensor } from './tensor.js';

/** Which float32 parameters of a graph an ONNX file holds as integers. */
export interface Quantization {
  /**
   * Weights of linear layers, in 8 bits, by name, each with the range of what its layer reads. A range that is known
   * beforehand makes a text's result independent of the texts beside it, where one taken from each batch would not.
   */
  readonly linear: ReadonlyMap<string, Range>;
  /** Tables that rows are read from, by name, and the bits of an entry. */
  readonly tables: ReadonlyMap<string, TableBits>;
}

/** Tables of an odd width take 8 where 4 is asked for. */
export type TableBits = 4 | 8;

/** 0 lies inside. */
export interface Range {
  readonly min: number;
  readonly max: number;
}

/** x·Wᵀ with a parameter W [outputs, inputs]. */
interface LinearLayer {
  readonly input: Tensor;
  readonly weight: Tensor;
}

type LinearForm<Name extends OperationName> = (node: NodeOf<Name>) => LinearLayer | undefined;

const linearForms: { readonly [Name in OperationName]?: LinearForm<Name> } = {
  gemm: ({ inputs: [input, weight], attributes: { transposeA, transposeB } }) =>
    weight.source.kind === 'parameter' && transposeB && !transposeA ? { input, weight } : undefined,
};

/** What the linear layers of a graph read, [rows, inputs] each, by the name of the layer's weight. */
export function linearInputs(graph: Graph): ReadonlyMap<string, Tensor> {
  const layers = nodesFor([...graph.outputs.values()]).flatMap(
    (node) => node.visit((typed) => linearForms[typed.operation]?.(typed)) ?? [],
  );
  return new Map(layers.map(({ input, weight }) => [weight.name, input]));
}
