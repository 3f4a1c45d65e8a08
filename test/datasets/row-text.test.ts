import { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it, vi } from 'vitest';
import { readRows } from '../../src/datasets/index.js';
import { failureOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const OPEN = '/proc/self/fd';

/** How many descriptors of this process have the file open. */
function descriptorsOf(path: string): number {
  const target = (descriptor: string) => {
    try {
      return readlinkSync(join(OPEN, descriptor));
    } catch {
      return undefined; // of the listing itself
    }
  };
  return readdirSync(OPEN).filter((descriptor) => target(descriptor) === path).length;
}

const rest = Buffer.from('some text here,a\n'.repeat(40_000));
const latin1 = Buffer.concat([Buffer.from('text,label\ncaf\xe9,b\n', 'latin1'), rest]);

it.runIf(process.platform === 'linux').each([
  ['rows.csv', latin1],
  // Bytes that gzip can't make smaller, so that the file is longer than what is read of it at first.
  ['rows.csv.gz', gzipSync(latin1, { level: 0 })],
])('%s is closed if one of its first lines is refused', async (name, content) => {
  const path = join(temporaryDirectory(), name);
  writeFileSync(path, content);
  await failureOf('dataset', () => readRows(path, { option: 'path' }));
  await vi.waitFor(() => expect(descriptorsOf(path)).toBe(0));
});
