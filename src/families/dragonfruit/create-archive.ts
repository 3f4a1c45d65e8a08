import type { ResultAsync } from 'neverthrow';
import type { OrchardError } from '../../errors.js';
import { writeArchive } from '../archive-writing.js';
import type { RetrievalArchiveOptions, RetrievalArchiveSummary } from './write-archive.js';

/**
 * Makes a zip archive (docs/archives.md) out of questions and passages. Rows are checked as training checks
 * them, and each problem names the line of the file or the number of the row. If there are any, nothing is
 * written.
 */
export function createRetrievalArchive(
  options: RetrievalArchiveOptions,
  outputPath: string,
): ResultAsync<RetrievalArchiveSummary, OrchardError> {
  return writeArchive(async () => (await import('./write-archive.js')).prepareArchive(options), outputPath);
}
