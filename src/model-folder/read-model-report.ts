import { ModelFolderError } from '../errors.js';
import { type ModelEvaluation, modelEvaluationSchema } from './evaluation.js';
import { EVALUATION_FILE, TRAINING_FILE } from './files.js';
import { readChecked, readConfig } from './folder-file.js';
import type { ModelFolderConfig } from './model-config.js';
import { type TrainingRecord, trainingRecordSchema } from './training-record.js';

/** Everything that a model folder says about its model. */
export interface ModelReport {
  readonly config: ModelFolderConfig;
  readonly training: TrainingRecord;
  /** Absent in folders of earlier versions, which didn't write it. */
  readonly evaluation?: ModelEvaluation;
}

/** Reads config.json, training.json and, if there is one, evaluation.json. @throws ModelFolderError */
export async function readModelReport(directory: string): Promise<ModelReport> {
  const [config, training, evaluation] = await Promise.all([
    readConfig(directory),
    readChecked(directory, TRAINING_FILE, trainingRecordSchema),
    readChecked(directory, EVALUATION_FILE, modelEvaluationSchema).catch(absentIfMissing),
  ]);
  return { config, training, ...(evaluation && { evaluation }) };
}

/** @throws the error, unless it says that the file is missing. */
function absentIfMissing(error: unknown): undefined {
  const cause = error instanceof ModelFolderError ? error.cause : undefined;
  if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
  throw error;
}
