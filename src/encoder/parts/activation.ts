import * as z from 'zod';
import type { Graph, Tensor } from '../../graph/index.js';

type ActivationRule = (graph: Graph, x: Tensor) => Tensor;

/** What activations compute, by transformers' names. */
const activations = {
  gelu: (graph, x) => graph.gelu(x),
  gelu_new: (graph, x) => graph.geluTanh(x),
  gelu_pytorch_tanh: (graph, x) => graph.geluTanh(x),
  relu: (graph, x) => graph.multiply(x, graph.greater(x, graph.constant([0], []))),
  tanh: (graph, x) => graph.tanh(x),
} satisfies Readonly<Record<string, ActivationRule>>;

export type Activation = keyof typeof activations;

/** Those that encoders have between the layers of a feed-forward block. */
export const activationField = z.enum(['gelu', 'gelu_new', 'gelu_pytorch_tanh', 'relu']);

/** The activation by transformers' name, element by element. */
export function activate(graph: Graph, name: Activation, x: Tensor): Tensor {
  return activations[name](graph, x);
}
