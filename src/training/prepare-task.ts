import { join } from 'node:path';
import { errAsync, okAsync, type Result, type ResultAsync } from 'neverthrow';
import { fetchDataset, publicFetch, unzip } from '../datasets/index.js';
import { type OrchardError, ValidationError } from '../errors.js';
import { type Family, familyNamed, type TrainingTask } from '../families/index.js';
import type { ProgressReporter } from './progress-reporter.js';
import type { TrainingSpec } from './training-run.js';

export interface PreparedTask {
  readonly family: Family;
  readonly task: TrainingTask;
}

/** Brings the dataset to the local disk, unpacks it under `directory` and reads it. */
export function prepareTask(
  spec: TrainingSpec,
  directory: string,
  signal: AbortSignal,
  progress: ProgressReporter,
): ResultAsync<PreparedTask, OrchardError> {
  const { family: familyName, type } = spec.model_config;
  const family = familyNamed(familyName);
  if (family === undefined) return errAsync(unavailable(familyName));
  progress.entered('download');
  const { allowFileUrls: allowFile, allowPrivateAddresses = true } = spec;
  const fetch = allowPrivateAddresses ? undefined : publicFetch;
  return fetchDataset(spec.dataset_url, { directory, allowFile, signal, fetch })
    .andThen((dataset): ResultAsync<string, OrchardError> => {
      progress.entered('read');
      if (dataset.kind === 'folder') return okAsync(dataset.path);
      const target = join(directory, 'dataset');
      return unzip(dataset.path, target, { name: dataset.name, signal }).map(() => target);
    })
    .andThen((folder): Result<TrainingTask, OrchardError> => family.readArchive(folder, type))
    .map((task) => ({ family, task }));
}

function unavailable(family: string): ValidationError {
  const msg = `this version of Orchard can't train the family ${family}`;
  return new ValidationError([{ loc: ['model_config', 'family'], msg, type: 'unavailable' }]);
}
