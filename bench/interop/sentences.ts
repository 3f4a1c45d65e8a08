import { spawnSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compareFolder } from '../../test/support/sentence-oracle.js';

const SCRIPT = fileURLToPath(new URL('sentences.py', import.meta.url));
/** Largest difference of numbers that count as equal; above 1, of their ratio to the number. */
const TOLERANCE = 1e-5;

export interface SentenceRow {
  readonly numbers: number;
  readonly 'largest difference': string;
  readonly equal: boolean;
}

/**
 * Has Python write small random folders of sentence-transformers, and compares our vectors and scores to its own.
 * @param folder where they are written.
 * @returns a row for each by its name, or the reason as text if Python writes none.
 */
export async function compareSentenceFolders(
  folder: string,
  python: string,
): Promise<Record<string, SentenceRow> | string> {
  await mkdir(folder, { recursive: true });
  const { stdout, stderr, error, status } = spawnSync(python, [SCRIPT, folder], { encoding: 'utf8' });
  if (error) return `${python} does not start`;
  if (status !== 0) return stderr.trim().slice(-300);
  const rows: Record<string, SentenceRow> = {};
  for (const name of stdout.trim().split('\n')) {
    const { numbers, largest } = await compareFolder(join(folder, name));
    const equal = numbers > 0 && largest <= TOLERANCE;
    rows[name] = { numbers, 'largest difference': largest.toExponential(1), equal };
  }
  return rows;
}
