import type { CompileOptions } from './executor.js';
import type { Graph } from './graph.js';
import { nodesFor } from './node-order.js';
import type { Tensor } from './tensor.js';

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
