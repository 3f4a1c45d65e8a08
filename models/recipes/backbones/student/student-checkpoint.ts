import { existsSync } from 'node:fs';
import { z } from 'zod';
import {
  type Checkpoint,
  checkpointTensors,
  type ParameterStore,
  readCheckpoint,
  restoreParameters,
} from '../../../../src/engine/index.js';
import type { NamedTensor } from '../../../../src/safetensors/index.js';

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

/**
 * Puts weights and optimizer back to where a file left them.
 * @returns the state; undefined where there is no file.
 * @throws where the file holds no checkpoint, or one of another student.
 */
export async function restoreStudent(file: string, store: ParameterStore): Promise<StudentState | undefined> {
  if (!existsSync(file)) return undefined;
  const { checkpoint, state } = await openCheckpoint(file);
  restoreParameters(checkpoint, store);
  return state;
}

/** The weights that a checkpoint holds, by parameter name. @throws where the file holds no checkpoint. */
export async function readStudent(
  file: string,
): Promise<{ state: StudentState; weights: Map<string, NamedTensor> }> {
  const { checkpoint, state } = await openCheckpoint(file);
  return { state, weights: checkpointTensors(checkpoint) };
}

async function openCheckpoint(file: string): Promise<{ checkpoint: Checkpoint; state: StudentState }> {
  const checkpoint = await readCheckpoint(file);
  if (checkpoint === undefined) throw new Error(`${file} holds no checkpoint that can be read`);
  return { checkpoint, state: studentStateSchema.parse(checkpoint.state) };
}
