import type { JobRecord } from '../jobs/index.js';
import type { TrainingSpec } from '../training/index.js';
import type { TrainerSettings } from './trainer-options.js';

type Told =
  | 'threads'
  | 'memoryLimit'
  | 'allowFileUrls'
  | 'allowPrivateAddresses'
  | 'tuning'
  | 'checkpointIntervalMs';

/** What a run of a job is told: what the job's record says, else what whoever runs it says. */
export function specOf(
  { id, dataset_url, model_config, training_config, seed, ...job }: JobRecord,
  settings: Pick<TrainerSettings, Told>,
): Omit<TrainingSpec, 'directory' | 'backbone' | 'device'> {
  const { threads, memoryLimit, checkpointIntervalMs } = settings;
  return {
    ...{ id, dataset: { url: dataset_url }, model_config, training_config, seed },
    ...{ threads, memoryLimit, checkpointIntervalMs },
    allowFileUrls: job.allow_file_url ?? settings.allowFileUrls,
    allowPrivateAddresses: job.allow_private_addresses ?? settings.allowPrivateAddresses,
    tuning: job.tuning ?? settings.tuning,
  };
}
