import type { ResultAsync } from 'neverthrow';
import type { OrchardError } from '../../errors.js';
import { writeArchive } from '../archive-writing.js';
import type { SequenceArchiveOptions, SequenceArchiveSummary } from './write-archive.js';

/**
 * Makes a zip archive (docs/archives.md) out of tagged sentences. They are checked as training checks them,
 * and each problem names its line in the source. If there are any, nothing is written.
 */
export function createSequenceArchive(
  options: SequenceArchiveOptions,
  outputPath: string,
): ResultAsync<SequenceArchiveSummary, OrchardError> {
  return writeArchive(async () => (await import('./write-archive.js')).prepareArchive(options), outputPath);
}
