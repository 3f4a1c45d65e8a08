import { ModelFolderError } from '../errors.js';
import { type ModelEvaluation, modelEvaluationSchema } from './evaluation.js';
import { EVALUATION_FILE, TRAINING_FILE } from './files.js';
import { readChecked, readConfig } from './folder-file.js';
import type { ModelFolderConfig } from './model-config.js';
import { type TrainingRecord, trainingRecordSchema } from './training-record.js';

/** The descriptions of a model in its folder. */
export interface ModelReport {
  readonly config: ModelFolderConfig;
  readonly training: TrainingRecord;
  /** Absent if the folder has no evaluation.json. */
  readonly evaluation?: ModelEvaluation;
}

/** Reads config.json, training.json and, if it exists, evaluation.json. @throws ModelFolderError */
export async function readModelReport(directory: string): Promise<ModelReport> {
  const [config, training, evaluation] = await Promise.all([
    readConfig(directory),
    readChecked(directory, TRAINING_FILE, trainingRecordSchema),
    readChecked(directory, EVALUATION_FILE, modelEvaluationSchema).catch(absentIfMissing),
  ]);
  return { config, training, ...(evaluation && { evaluation }) };
}

/** @throws the error, unless the file is missing */
function absentIfMissing(error: unknown): undefined {
  const cause = error instanceof ModelFolderError ? error.cause : undefined;
  if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
  throw error;
}
