import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** An empty directory that is deleted when the running test has ended, or with what else `onEnd` ends. */
export function temporaryDirectory(onEnd: (end: () => void) => void = onTestFinished): string {
  const directory = mkdtempSync(join(tmpdir(), 'orchard-test-'));
  onEnd(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
