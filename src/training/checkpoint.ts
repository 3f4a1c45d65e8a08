import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { decodeSafetensors, encodeSafetensors, type NamedTensor } from '../model-folder/index.js';
import type { AdamWOptimizer } from './adamw-optimizer.js';
import type { ParameterStore } from './parameter-store.js';
import { type TrainingState, trainingStateSchema } from './training-state.js';

/** The weights that the best epoch so far ended with, by parameter name. */
export type Weights = ReadonlyMap<string, Float32Array>;

const STATE = 'orchard.training_state';

/**
 * Writes everything that a training needs to go on after this epoch into one safetensors file. The file is
 * replaced in one step, so a crash leaves the earlier checkpoint.
 */
export async function saveCheckpoint(
  file: string,
  state: TrainingState,
  store: ParameterStore,
  best: Weights,
): Promise<void> {
  const tensors = new Map<string, NamedTensor>();
  for (const { name, shape, weights, firstMoments, secondMoments } of store.parameters) {
    tensors.set(`weights/${name}`, { shape, values: weights });
    tensors.set(`first/${name}`, { shape, values: firstMoments });
    tensors.set(`second/${name}`, { shape, values: secondMoments });
    tensors.set(`best/${name}`, { shape, values: best.get(name) ?? weights });
  }
  await mkdir(dirname(file), { recursive: true });
  const draft = `${file}.draft`;
  const handle = await open(draft, 'w');
  try {
    await handle.writeFile(encodeSafetensors(tensors, { [STATE]: JSON.stringify(state) }));
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
}

/**
 * Puts a training back to where its checkpoint left it.
 * @returns the state and the best weights; undefined, with nothing changed, where there is no checkpoint of the
 *   same training.
 */
export async function restoreCheckpoint(
  file: string,
  fingerprint: string,
  store: ParameterStore,
  optimizer: AdamWOptimizer,
): Promise<{ readonly state: TrainingState; readonly best: Weights } | undefined> {
  const bytes = await readFile(file).catch(() => undefined);
  const content = bytes && decodeSafetensors(bytes, file).unwrapOr(undefined);
  const json = content?.metadata[STATE];
  if (content === undefined || json === undefined) return undefined;
  const state = trainingStateSchema.parse(JSON.parse(json));
  if (state.fingerprint !== fingerprint) return undefined;
  const values = (name: string) => content.tensors.get(name)?.values ?? new Float32Array();
  const moments = new Map(
    store.parameters.map(({ name }) => [
      name,
      { first: values(`first/${name}`), second: values(`second/${name}`) },
    ]),
  );
  if (optimizer.restore({ steps: state.steps, moments }).isErr()) return undefined;
  for (const { name, weights } of store.parameters) weights.set(values(`weights/${name}`));
  return { state, best: new Map(store.parameters.map(({ name }) => [name, values(`best/${name}`)])) };
}
