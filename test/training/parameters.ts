import { Arena, type Kernels, loadKernels } from '../../src/kernels/index.js';
import {
  type ParameterDefinition,
  ParameterStore,
  type ParameterStoreOptions,
} from '../../src/training/parameter-store.js';

/** A store in an arena of just its size, with its kernels. */
export function storeOf(
  definitions: readonly ParameterDefinition[],
  options: ParameterStoreOptions = {},
): { store: ParameterStore; kernels: Kernels; arena: Arena } {
  const arena = new Arena(ParameterStore.bytesFor(definitions, options));
  const kernels = loadKernels(arena);
  return { store: new ParameterStore(arena, kernels, definitions, options), kernels, arena };
}

export function decayed(name: string, ...shape: number[]): ParameterDefinition {
  return { name, shape, decay: true };
}

export function undecayed(name: string, ...shape: number[]): ParameterDefinition {
  return { name, shape, decay: false };
}
