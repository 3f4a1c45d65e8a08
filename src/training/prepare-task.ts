import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fetchDataset, unzip } from '../datasets/index.js';
import { ValidationError } from '../errors.js';
import { type Dataset, type Family, familyNamed, type TrainingTask } from '../families/index.js';
import { publicFetch } from '../network/index.js';
import { requireMemoryToRead } from './memory-estimate.js';
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
  const { family: familyName } = spec.model_config;
  const family = familyNamed(familyName);
  if (family === undefined) throw unavailable(familyName);
  const { task } = await family.training();
  return { family, task: task(await rowsOf(spec, family, directory, signal, progress)) };
}

async function rowsOf(
  {
    id,
    dataset,
    model_config,
    memoryLimit,
    allowFileUrls = false,
    allowPrivateAddresses = true,
  }: TrainingSpec,
  family: Family,
  directory: string,
  signal: AbortSignal,
  progress: ProgressReporter,
): Promise<Dataset> {
  if ('rows' in dataset) return dataset.rows;
  const { read } = await family.rows();
  const readIn = (folder: string) => read(folder, model_config.type, signal);
  if ('folder' in dataset) {
    progress.entered('read');
    return readIn(dataset.folder);
  }
  progress.entered('download');
  const fetch = allowPrivateAddresses ? undefined : publicFetch;
  const fetching = { directory, allowFile: allowFileUrls, signal, fetch };
  const fetched = await fetchDataset(dataset.url, fetching);
  progress.entered('read');
  if (fetched.kind === 'folder') return readIn(fetched.path);
  const folder = join(directory, 'dataset');
  const files = await unzip(fetched.path, folder, { name: fetched.name, signal });
  requireMemoryToRead(id, await bytesOf(files, folder), memoryLimit);
  return readIn(folder);
}

async function bytesOf(files: readonly string[], folder: string): Promise<number> {
  const all = await Promise.all(files.map((file) => stat(join(folder, file))));
  return all.reduce((sum, { size }) => sum + size, 0);
}

function unavailable(family: string): ValidationError {
  const msg = `this version of Orchard can't train the family ${family}`;
  return new ValidationError([{ loc: ['model_config', 'family'], msg, type: 'unavailable' }]);
}
