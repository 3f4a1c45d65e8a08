import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { checksumOf } from '../../src/models/checked-download.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

// The ids are those of `git hash-object` and the digests those of `sha256sum`.
it.each([
  ['', 'git SHA-1', 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'],
  ['test content\n', 'git SHA-1', 'd670460b4b4aece5915caf5c68d12f560a9fe3e4'],
  ['', 'SHA-256', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
  ['abc', 'SHA-256', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
] as const)('of %j by %s is that of git and sha256sum', async (content, algorithm, expected) => {
  const path = join(temporaryDirectory(), 'file');
  writeFileSync(path, content);
  expect(await checksumOf(path, content.length, algorithm)).toBe(expected);
});
