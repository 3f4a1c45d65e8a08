import { readFile } from 'node:fs/promises';
import { isOrchardError, TrainingError } from '../contract/index.js';
import { volume } from '../graph/index.js';
import { decodeSafetensors, encodeSafetensors, type NamedTensor } from '../models/index.js';
import { replaceFile } from '../system/index.js';
import type { LearnedParameters, ParameterState, Weights } from './parameters.js';

interface CheckpointContent {
  readonly state: unknown;
  /** A second set of weights by parameter name, such as those of the best epoch so far. Default: none. */
  readonly best?: Weights;
}

export interface Checkpoint {
  /** Not validated yet: any program may have written the file. */
  readonly state: unknown;
  readonly tensors: ReadonlyMap<string, NamedTensor>;
}

const STATE = 'orchard.training_state';

/**
 * Writes everything that resuming a training needs into one safetensors file, each tensor under the parameter's name with
 * a prefix: `weights/`, `first/` and `second/` for the moments, and `best/`. The file is replaced atomically: after a
 * crash, the previous checkpoint is still there.
 */
export async function saveCheckpoint(
  file: string,
  store: LearnedParameters,
  { state, best }: CheckpointContent,
): Promise<void> {
  const tensors = new Map<string, NamedTensor>();
  for (const { name, shape, weights, firstMoments, secondMoments } of await store.state()) {
    tensors.set(`weights/${name}`, { shape, values: weights });
    tensors.set(`first/${name}`, { shape, values: firstMoments });
    tensors.set(`second/${name}`, { shape, values: secondMoments });
    if (best !== undefined) tensors.set(`best/${name}`, { shape, values: best.get(name) ?? weights });
  }
  await replaceFile(file, encodeSafetensors(tensors, { [STATE]: JSON.stringify(state) }), {
    draft: `${file}.draft`,
  });
}

/** @returns undefined if there is no such file, or it holds no checkpoint. */
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
 * Restores weights and moments from a checkpoint.
 * @throws TrainingError if the checkpoint is of other parameters; nothing is changed then
 */
export async function restoreParameters({ tensors }: Checkpoint, store: LearnedParameters): Promise<void> {
  const states = store.parameters.map(({ name, shape }): ParameterState => {
    const valuesOf = (kind: string) => fittingValues(tensors, `${kind}/${name}`, volume(shape));
    const moments = { firstMoments: valuesOf('first'), secondMoments: valuesOf('second') };
    return { name, shape, weights: valuesOf('weights'), ...moments };
  });
  await store.restore(states);
}

function fittingValues(tensors: Checkpoint['tensors'], name: string, size: number): Float32Array {
  const values = tensors.get(name)?.values;
  if (values?.length === size) return values;
  const found = values === undefined ? 'is missing' : `has ${values.length} elements`;
  const problem = `tensor ${name} ${found}, expected ${size} elements`;
  throw new TrainingError(`checkpoint: ${problem}; it belongs to another model, so start a new training`);
}

/** @param kind `best` for the second set of weights. */
export function checkpointTensors(
  { tensors }: Checkpoint,
  kind: 'weights' | 'best' = 'weights',
): Map<string, NamedTensor> {
  const prefix = `${kind}/`;
  const found = [...tensors].filter(([name]) => name.startsWith(prefix));
  return new Map(found.map(([name, tensor]) => [name.slice(prefix.length), tensor]));
}
