import * as z from 'zod';
import type { Graph, Tensor } from '../../graph/index.js';

type ActivationRule = (graph: Graph, x: Tensor) => Tensor;

/** √(2/π) and the factor of x³ in the approximation of GELU by tanh (Hendrycks & Gimpel 2016, section 2). */
const GELU_SLOPE = Math.sqrt(2 / Math.PI);
const GELU_CUBE = 0.044715;

/** ½x·(1 + tanh(√(2/π)·(x + 0.044715x³))). */
const tanhGelu: ActivationRule = (graph, x) => {
  const square = graph.multiply(x, x);
  const inner = graph.multiply(x, graph.add(graph.scale(square, GELU_CUBE), graph.constant([1], [])));
  const gate = graph.add(graph.tanh(graph.scale(inner, GELU_SLOPE)), graph.constant([1], []));
  return graph.multiply(graph.scale(x, 0.5), gate);
};

/** transformers' names of activations, and what they compute. */
const activations = {
  gelu: (graph, x) => graph.gelu(x),
  gelu_new: tanhGelu,
  gelu_pytorch_tanh: tanhGelu,
  tanh: (graph, x) => graph.tanh(x),
} satisfies Readonly<Record<string, ActivationRule>>;

export type Activation = keyof typeof activations;

export const activationField = z.enum(['gelu', 'gelu_new', 'gelu_pytorch_tanh']);

/** The activation by transformers' name, element by element. */
export function activate(graph: Graph, name: Activation, x: Tensor): Tensor {
  return activations[name](graph, x);
}
