import { Arena, type Kernels, loadKernels, type ParameterDefinition, ParameterStore } from '../../src/engine/index.js';

/** A store in an arena of just its size, with its kernels. */
export function storeOf(
  definitions: readonly ParameterDefinition[],
  accumulate = false,
): { store: ParameterStore; kernels: Kernels; arena: Arena } {
  const arena = new Arena(ParameterStore.bytesFor(definitions, accumulate));
  const kernels = loadKernels(arena);
  return { store: new ParameterStore(arena, kernels, definitions, accumulate), kernels, arena };
}

export function decayed(name: string, ...shape: number[]): ParameterDefinition {
  return { name, shape, decay: true };
}

export function undecayed(name: string, ...shape: number[]): ParameterDefinition {
  return { name, shape, decay: false };
}
