import { volume } from '../graph/index.js';
import type { ParameterDefinition } from './learned-parameters.js';

/**
 * What is computed for every parameter is computed in groups of about so many bytes of weights, each in one run: then
 * the old and the new tensors of one group are in memory together, and not those of all.
 */
const GROUP_BYTES = 64 * 1024 ** 2;
const FLOAT = 4;

/** Cuts parameters into groups, each of at most 64 MiB of weights unless a single parameter has more. */
export function inGroups(parameters: readonly ParameterDefinition[]): ParameterDefinition[][] {
  const groups: ParameterDefinition[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const parameter of parameters) {
    const own = FLOAT * volume(parameter.shape);
    if (bytes + own > GROUP_BYTES) {
      groups.push([]);
      bytes = 0;
    }
    groups.at(-1)?.push(parameter);
    bytes += own;
  }
  return groups;
}
