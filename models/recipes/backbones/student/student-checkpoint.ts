import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import type { AdamWOptimizer } from '../../../../src/engine/adamw-optimizer.js';
import type { ParameterStore } from '../../../../src/engine/parameter-store.js';
import { decodeSafetensors, encodeSafetensors, type NamedTensor } from '../../../../src/safetensors/index.js';

/** Beside these it holds the objective's measures on the validation examples, by name. */
const curvePointSchema = z
  .object({
    step: z.int(),
    /** Of all runs together. */
    seconds: z.number(),
    tokens: z.int(),
    /** Mean training loss since the point before. */
    loss: z.number(),
  })
  .catchall(z.number());
export type CurvePoint = z.infer<typeof curvePointSchema>;

const studentStateSchema = z.strictObject({
  steps: z.int(),
  /** With the epoch decides the order of the texts, with the step what is masked: all of the random state. */
  seed: z.int(),
  /** Where in the data it stands: the epoch, batches of it that were read, and how many examples were in order. */
  epoch: z.int(),
  batch: z.int(),
  texts: z.int(),
  tokens: z.int(),
  seconds: z.number(),
  curve: z.array(curvePointSchema),
});
/** Where the student's learning stands, beside the numbers. */
export type StudentState = z.infer<typeof studentStateSchema>;

const STATE = 'student_state';

/** Writes weights, optimizer and state into one file, in one step: a crash leaves the earlier one. */
export function saveStudent(file: string, state: StudentState, store: ParameterStore): void {
  const tensors = new Map<string, NamedTensor>();
  for (const { name, shape, weights, firstMoments, secondMoments } of store.parameters) {
    tensors.set(`weights/${name}`, { shape, values: weights });
    tensors.set(`first/${name}`, { shape, values: firstMoments });
    tensors.set(`second/${name}`, { shape, values: secondMoments });
  }
  const draft = `${file}.draft`;
  writeFileSync(draft, encodeSafetensors(tensors, { [STATE]: JSON.stringify(state) }));
  renameSync(draft, file);
}

/** Puts store and optimizer back to where the file left them. @returns the state; undefined where there is no file. */
export function restoreStudent(
  file: string,
  store: ParameterStore,
  optimizer: AdamWOptimizer,
): StudentState | undefined {
  if (!existsSync(file)) return undefined;
  const { tensors, metadata } = decodeSafetensors(readFileSync(file), file);
  const state = studentStateSchema.parse(JSON.parse(metadata[STATE] ?? 'null'));
  const values = (name: string) => tensors.get(name)?.values ?? new Float32Array();
  const moments = new Map(
    store.parameters.map(({ name }) => [
      name,
      { first: values(`first/${name}`), second: values(`second/${name}`) },
    ]),
  );
  optimizer.restore({ steps: state.steps, moments });
  for (const { name, weights } of store.parameters) weights.set(values(`weights/${name}`));
  return state;
}

/** The weights that a checkpoint holds, by parameter name. */
export function readStudent(file: string): { state: StudentState; weights: Map<string, NamedTensor> } {
  const { tensors, metadata } = decodeSafetensors(readFileSync(file), file);
  const kind = 'weights/';
  const weights = [...tensors].filter(([name]) => name.startsWith(kind));
  return {
    state: studentStateSchema.parse(JSON.parse(metadata[STATE] ?? 'null')),
    weights: new Map(weights.map(([name, tensor]) => [name.slice(kind.length), tensor])),
  };
}
