import { join } from 'node:path';
import { fetchDataset, unzip } from '../datasets/index.js';
import { bytesIn, publicFetch } from '../system/index.js';
import { requireMemoryToRead } from './memory-estimate.js';
import type { ProgressReporter } from './progress-reporter.js';
import type { TrainingSpec } from './training-run.js';

/**
 * Fetches the archive at a URL, and unpacks it under `directory`.
 * @returns the folder of its files.
 * @throws ValidationError, DownloadError, DatasetError, TrainingError if it is too large for the memory; AbortedError when the signal fires.
 */
export async function fetchArchive(
  url: string,
  { id, memoryLimit, allowFileUrls = false, allowPrivateAddresses = true }: TrainingSpec,
  directory: string,
  signal: AbortSignal,
  progress: ProgressReporter,
): Promise<string> {
  progress.entered('download');
  const fetch = allowPrivateAddresses ? undefined : publicFetch;
  const fetched = await fetchDataset(url, { directory, allowFile: allowFileUrls, signal, fetch });
  progress.entered('read');
  if (fetched.kind === 'folder') return fetched.path;
  const folder = join(directory, 'dataset');
  await unzip(fetched.path, folder, { name: fetched.name, signal });
  requireMemoryToRead(id, await bytesIn(folder), memoryLimit);
  return folder;
}
