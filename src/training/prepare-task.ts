import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fetchDataset, unzip } from '../datasets/index.js';
import { type Family, families, type TrainingTask } from '../families/index.js';
import { publicFetch } from '../network/index.js';
import { requireMemoryToRead } from './memory-estimate.js';
import type { ProgressReporter } from './progress-reporter.js';
import type { TrainingSpec } from './training-run.js';

export interface PreparedTask {
  readonly family: Family;
  readonly task: TrainingTask;
}

/**
 * Fetches the dataset, unpacks it under `directory` and reads it.
 * @throws ValidationError, DownloadError, DatasetError, TrainingError if it is too large for the memory; AbortedError when the signal fires.
 */
export async function prepareTask(
  spec: TrainingSpec,
  directory: string,
  signal: AbortSignal,
  progress: ProgressReporter,
): Promise<PreparedTask> {
  const { type } = spec.model_config;
  const family = families[spec.model_config.family];
  progress.entered('download');
  const { allowFileUrls: allowFile, allowPrivateAddresses = true } = spec;
  const fetch = allowPrivateAddresses ? undefined : publicFetch;
  const dataset = await fetchDataset(spec.dataset_url, { directory, allowFile, signal, fetch });
  progress.entered('read');
  const { readArchive } = await family.training();
  if (dataset.kind === 'folder') return { family, task: await readArchive(dataset.path, type, signal) };
  const folder = join(directory, 'dataset');
  const files = await unzip(dataset.path, folder, { name: dataset.name, signal });
  requireMemoryToRead(spec.id, await bytesOf(files, folder), spec.memoryLimit);
  return { family, task: await readArchive(folder, type, signal) };
}

async function bytesOf(files: readonly string[], folder: string): Promise<number> {
  const all = await Promise.all(files.map((file) => stat(join(folder, file))));
  return all.reduce((sum, { size }) => sum + size, 0);
}
