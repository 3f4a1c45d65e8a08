import { existsSync } from 'node:fs';
import { z } from 'zod';
import {
  type Checkpoint,
  checkpointTensors,
  type ParameterStore,
  readCheckpoint,
  restoreParameters,
} from '../../../../src/engine/index.js';
import type { NamedTensor } from '../../../../src/models/index.js';

/** Besides these fields it holds the objective's measures on the validation examples, by name. */
const curvePointSchema = z
  .object({
    step: z.int(),
    /** Of all runs together. */
    seconds: z.number(),
    tokens: z.int(),
    /** Mean training loss since the previous point. */
    loss: z.number(),
  })
  .catchall(z.number());
export type CurvePoint = z.infer<typeof curvePointSchema>;

const studentStateSchema = z.strictObject({
  steps: z.int(),
  /**
   * Together with the epoch it decides the order of the texts, with the step what is masked: all of the
   * random state.
   */
  seed: z.int(),
  /** Position in the data: the epoch, its batches already trained on, and how many examples were ordered. */
  epoch: z.int(),
  batch: z.int(),
  texts: z.int(),
  tokens: z.int(),
  seconds: z.number(),
  curve: z.array(curvePointSchema),
});
/** State of a student's training, besides the tensors. */
export type StudentState = z.infer<typeof studentStateSchema>;

/**
 * Restores weights and optimizer from a file.
 * @returns the state; undefined if there is no file.
 * @throws Error if the file holds no checkpoint, or one of another student.
 */
export async function restoreStudent(file: string, store: ParameterStore): Promise<StudentState | undefined> {
  if (!existsSync(file)) return undefined;
  const { checkpoint, state } = await openCheckpoint(file);
  await restoreParameters(checkpoint, store);
  return state;
}

/** The weights in a checkpoint, by parameter name. @throws Error if the file holds no checkpoint. */
export async function readStudent(file: string): Promise<{ state: StudentState; weights: Map<string, NamedTensor> }> {
  const { checkpoint, state } = await openCheckpoint(file);
  return { state, weights: checkpointTensors(checkpoint) };
}

async function openCheckpoint(file: string): Promise<{ checkpoint: Checkpoint; state: StudentState }> {
  const checkpoint = await readCheckpoint(file);
  if (checkpoint === undefined) throw new Error(`${file} holds no checkpoint that can be read`);
  return { checkpoint, state: studentStateSchema.parse(checkpoint.state) };
}
