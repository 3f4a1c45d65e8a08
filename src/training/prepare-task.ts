import { type Dataset, type Family, families, type TrainingTask } from '../families/index.js';
import type { ProgressReporter } from './progress-reporter.js';
import type { TrainingSpec } from './training-run.js';

export interface PreparedTask {
  readonly family: Family;
  readonly task: TrainingTask;
}

/**
 * Brings the rows of a run: those of its spec, or of an archive, which is fetched, unpacked under `directory` and read.
 * @throws ValidationError, DownloadError, DatasetError, TrainingError if it is too large for the memory; AbortedError when the signal fires.
 */
export async function prepareTask(
  spec: TrainingSpec,
  directory: string,
  signal: AbortSignal,
  progress: ProgressReporter,
): Promise<PreparedTask> {
  const family = families[spec.model_config.family];
  const { task } = await family.training();
  return { family, task: task(await rowsOf(spec, family, directory, signal, progress)) };
}

async function rowsOf(
  spec: TrainingSpec,
  family: Family,
  directory: string,
  signal: AbortSignal,
  progress: ProgressReporter,
): Promise<Dataset> {
  const { dataset, model_config } = spec;
  if ('rows' in dataset) return dataset.rows;
  const { read } = await family.rows();
  if ('folder' in dataset) {
    progress.entered('read');
    return read(dataset.folder, model_config.type, signal);
  }
  const { fetchArchive } = await import('./fetch-archive.js'); // rows and folders need no network
  const folder = await fetchArchive(dataset.url, spec, directory, signal, progress);
  return read(folder, model_config.type, signal);
}
