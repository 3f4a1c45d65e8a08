import type { Node } from './node.js';
import type { Tensor } from './tensor.js';

/** The nodes that the outputs depend on, producers first. */
export function nodesFor(outputs: readonly Tensor[]): Node[] {
  const order = new Set<Node>();
  const visit = (tensor: Tensor): void => {
    if (tensor.source.kind !== 'node' || order.has(tensor.source.node)) return;
    tensor.source.node.inputs.forEach(visit);
    order.add(tensor.source.node);
  };
  outputs.forEach(visit);
  return [...order];
}
