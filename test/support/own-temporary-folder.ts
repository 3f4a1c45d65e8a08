import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const PREFIX = 'orchard-tests-';

/** What the tests leave in the system's temporary folder lies in one folder, which is removed when they have ended. */
export default function ownTemporaryFolder(): () => void {
  // Vitest calls this once for each project. A folder in a folder makes paths too long for Chromium's socket.
  if (basename(tmpdir()).startsWith(PREFIX)) return () => undefined;
  const folder = mkdtempSync(join(tmpdir(), PREFIX));
  chmodSync(folder, 0o711); // a database server of the tests runs as another user, in a folder of its own in it
  process.env.TMPDIR = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
