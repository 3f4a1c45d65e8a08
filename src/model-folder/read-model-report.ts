import { join } from 'node:path';
import { ModelFolderError } from '../errors.js';
import { type ModelEvaluation, modelEvaluationSchema } from './evaluation.js';
import { CONFIG_FILE, EVALUATION_FILE, TRAINING_FILE } from './files.js';
import { readChecked } from './folder-file.js';
import { type ModelFolderConfig, modelFolderConfigSchema } from './model-config.js';
import { type TrainingRecord, trainingRecordSchema } from './training-record.js';

/** All that a model folder tells about its model. */
export interface ModelReport {
  readonly config: ModelFolderConfig;
  readonly training: TrainingRecord;
  /** Absent in folders of versions that wrote none. */
  readonly evaluation?: ModelEvaluation;
}

/** Reads config.json, training.json and, where there is one, evaluation.json. @throws ModelFolderError */
export async function readModelReport(directory: string): Promise<ModelReport> {
  const [config, training, evaluation] = await Promise.all([
    readChecked(join(directory, CONFIG_FILE), modelFolderConfigSchema),
    readChecked(join(directory, TRAINING_FILE), trainingRecordSchema),
    readChecked(join(directory, EVALUATION_FILE), modelEvaluationSchema).catch(absentIfMissing),
  ]);
  return { config, training, ...(evaluation === undefined ? {} : { evaluation }) };
}

/** @throws what is no missing file. */
function absentIfMissing(error: unknown): undefined {
  const cause = error instanceof ModelFolderError ? error.cause : undefined;
  if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
  throw error;
}
