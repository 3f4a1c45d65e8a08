import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.js';

it('the example serves, asks itself and stops', async () => {
  const example = fileURLToPath(new URL('../../examples/http-server.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', import.meta.resolve('tsx'), example], {
    cwd: temporaryDirectory(),
  });
  expect(stdout).toBe('200 {"data":[],"pagination":{"limit":20,"has_more":false,"next_cursor":null}}\n');
});
