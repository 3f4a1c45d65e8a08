import type { Graph } from './graph.js';
import { type NodeOf, nodesFor, type Tensor } from './node.js';
import type { OperationName } from './operations/operation.js';

/** Which float32 parameters of a graph an ONNX file stores as integers. */
export interface Quantization {
  /**
   * Linear layers' weights to store in 8 bits, by name, each with the range of its layer's inputs. Ranges
   * that are fixed beforehand, rather than taken from each batch, make a text's result independent of the
   * other texts in its batch.
   */
  readonly linear: ReadonlyMap<string, Range>;
  /** Embedding tables, by name, with their bits per entry. */
  readonly tables: ReadonlyMap<string, TableBits>;
}

/** Bits per entry; a table of odd width takes 8 even if 4 is asked for. */
export type TableBits = 4 | 8;

/** A range that includes 0. */
export interface Range {
  /** At most 0. */
  readonly min: number;
  /** At least 0. */
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

/**
 * Inputs of a graph's linear layers, [rows, inputs] each, by the name of the layer's weight: several where layers share
 * it.
 */
export function linearInputs(graph: Graph): ReadonlyMap<string, readonly Tensor[]> {
  const layers = nodesFor([...graph.outputs.values()]).flatMap(
    (node) => node.visit((typed) => linearForms[typed.operation]?.(typed)) ?? [],
  );
  const inputs = new Map<string, Tensor[]>();
  for (const { input, weight } of layers) inputs.set(weight.name, [...(inputs.get(weight.name) ?? []), input]);
  return inputs;
}
