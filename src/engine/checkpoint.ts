import { readFile } from 'node:fs/promises';
import { isOrchardError, TrainingError } from '../errors.js';
import { replaceFile } from '../files/index.js';
import { decodeSafetensors, encodeSafetensors, type NamedTensor } from '../safetensors/index.js';
import type { ParameterStore, Weights } from './parameter-store.js';

/** What a checkpoint holds beside the weights and what the optimizer keeps of each. */
export interface CheckpointContent {
  /** Where the training stands; anything that JSON holds. */
  readonly state: unknown;
  /** Further weights, by parameter name, such as those of the best epoch so far. Default: none. */
  readonly best?: Weights;
}

/** A checkpoint as its file has it. */
export interface Checkpoint {
  /** Not yet checked: any program may have written the file. */
  readonly state: unknown;
  readonly tensors: ReadonlyMap<string, NamedTensor>;
}

/** The metadata that holds the state. */
const STATE = 'orchard.training_state';

/** Prefixes of the tensors' names; those of the optimizer's slots are the slots' names. */
const WEIGHTS = 'weights';
const BEST = 'best';

/**
 * Writes everything that a training needs to go on into one safetensors file. The file is replaced in one step, so a
 * crash leaves the earlier checkpoint.
 */
export async function saveCheckpoint(
  file: string,
  store: ParameterStore,
  { state, best }: CheckpointContent,
): Promise<void> {
  const tensors = new Map<string, NamedTensor>();
  for (const { name, shape, weights, slots } of store.parameters) {
    tensors.set(`${WEIGHTS}/${name}`, { shape, values: weights });
    for (const [slot, values] of slots) tensors.set(`${slot}/${name}`, { shape, values });
    if (best !== undefined) tensors.set(`${BEST}/${name}`, { shape, values: best.get(name) ?? weights });
  }
  await replaceFile(file, encodeSafetensors(tensors, { [STATE]: JSON.stringify(state) }), {
    draft: `${file}.draft`,
  });
}

/** @returns undefined where there is no such file, or it holds no checkpoint. */
export async function readCheckpoint(file: string): Promise<Checkpoint | undefined> {
  const bytes = await readFile(file).catch(() => undefined);
  if (bytes === undefined) return undefined;
  try {
    const { metadata, tensors } = decodeSafetensors(bytes, file);
    const json = metadata[STATE];
    return json === undefined ? undefined : { state: JSON.parse(json), tensors };
  } catch (thrown) {
    if (isOrchardError(thrown) || thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

/**
 * Puts weights and optimizer slots back to where a checkpoint left them.
 * @throws TrainingError, with nothing changed, where the checkpoint is of other parameters
 */
export function restoreParameters({ tensors }: Checkpoint, store: ParameterStore): void {
  const restored = store.parameters.flatMap(({ name, weights, slots }) =>
    [[WEIGHTS, weights] as const, ...slots].map(([kind, target]) => {
      const values = tensors.get(`${kind}/${name}`)?.values;
      if (values?.length === target.length) return { target, values };
      const found = values === undefined ? 'are missing' : `have ${values.length} elements`;
      throw new TrainingError(
        `checkpoint, parameter ${name}: its ${kind} ${found}, expected ${target.length}; it belongs to another model, start anew`,
      );
    }),
  );
  for (const { target, values } of restored) target.set(values);
}

/** The weights that a checkpoint holds by their parameters' names. @param kind default: those to go on with. */
export function checkpointTensors(
  { tensors }: Checkpoint,
  kind: 'weights' | 'best' = WEIGHTS,
): Map<string, NamedTensor> {
  const prefix = `${kind}/`;
  const found = [...tensors].filter(([name]) => name.startsWith(prefix));
  return new Map(found.map(([name, tensor]) => [name.slice(prefix.length), tensor]));
}
