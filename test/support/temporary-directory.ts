import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** An empty directory that is deleted when the running test has ended. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'orchard-test-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
