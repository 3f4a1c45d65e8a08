import type { CompileOptions } from '../graph/index.js';

/**
 * Weights that don't learn, by parameter name, as the graphs are compiled with them: in memory, or in a file that all
 * graphs share.
 */
export type FrozenWeights = Pick<CompileOptions, 'weights' | 'stored'>;

export function isFrozen({ weights, stored }: FrozenWeights, name: string): boolean {
  return weights?.has(name) === true || stored?.offsets.has(name) === true;
}
