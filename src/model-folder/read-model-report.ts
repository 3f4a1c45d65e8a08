import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ResultAsync } from 'neverthrow';
import type * as z from 'zod';
import { ModelFolderError } from '../errors.js';
import { type ModelEvaluation, modelEvaluationSchema } from './evaluation.js';
import { CONFIG_FILE, EVALUATION_FILE, TRAINING_FILE } from './files.js';
import { type ModelFolderConfig, modelFolderConfigSchema } from './model-config.js';
import { type TrainingRecord, trainingRecordSchema } from './training-record.js';

/** All that a model folder tells about its model. */
export interface ModelReport {
  readonly config: ModelFolderConfig;
  readonly training: TrainingRecord;
  /** Absent in folders of versions that wrote none. */
  readonly evaluation?: ModelEvaluation;
}

/** Reads config.json, training.json and, where there is one, evaluation.json. */
export function readModelReport(directory: string): ResultAsync<ModelReport, ModelFolderError> {
  const read = async (): Promise<ModelReport> => {
    const [config, training, evaluation] = await Promise.all([
      readChecked(join(directory, CONFIG_FILE), modelFolderConfigSchema),
      readChecked(join(directory, TRAINING_FILE), trainingRecordSchema),
      readChecked(join(directory, EVALUATION_FILE), modelEvaluationSchema).catch(absentIfMissing),
    ]);
    return { config, training, ...(evaluation === undefined ? {} : { evaluation }) };
  };
  return ResultAsync.fromPromise(read(), (thrown) =>
    thrown instanceof ModelFolderError
      ? thrown
      : new ModelFolderError(directory, reasonOf(thrown), { cause: thrown }),
  );
}

/** @throws ModelFolderError */
async function readChecked<T>(file: string, schema: z.ZodType<T>): Promise<T> {
  const json = await readJson(file).catch((cause) => {
    throw new ModelFolderError(file, reasonOf(cause), { cause });
  });
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new ModelFolderError(file, `${issue?.path.join('.')}: ${issue?.message}`);
}

async function readJson(file: string): Promise<unknown> {
  return JSON.parse(await readFile(file, 'utf8'));
}

/** @throws what is no missing file. */
function absentIfMissing(error: unknown): undefined {
  const cause = error instanceof ModelFolderError ? error.cause : undefined;
  if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
  throw error;
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
