import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeZip } from '../../src/datasets/index.js';
import { failureOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

it('leaves no zip, and names the file, where one of its files is missing', async () => {
  const place = temporaryDirectory();
  const files = { 'a.txt': 'A', 'b.txt': { file: join(place, 'absent.txt') } };
  const { message } = await failureOf('storage', () => writeZip(join(place, 'new', 'data.zip'), files));
  expect(message).toMatch(/^writing .*data\.zip: ENOENT.*absent\.txt/);
  expect(readdirSync(join(place, 'new'))).toEqual([]);
});
