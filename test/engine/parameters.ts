import { adamW, type ParameterDefinition } from '../../src/engine/index.js';
import { ParameterStore, type ParameterStoreOptions } from '../../src/engine/parameter-store.js';
import { Arena, type Kernels, loadKernels } from '../../src/kernels/index.js';

/** The slots that AdamW keeps for each weight. */
export const { slots } = adamW();

/** A store with room for AdamW in an arena of just its size, with its kernels. */
export function storeOf(
  definitions: readonly ParameterDefinition[],
  asked: ParameterStoreOptions = {},
): { store: ParameterStore; kernels: Kernels; arena: Arena } {
  const options = { slots, ...asked };
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
