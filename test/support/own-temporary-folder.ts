import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What the tests leave in the system's temporary place lies in one folder, which goes when they have ended. */
export default function ownTemporaryFolder(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'orchard-tests-'));
  chmodSync(folder, 0o711); // a database server of the tests runs as another user, in a folder of its own in it
  process.env.TMPDIR = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
