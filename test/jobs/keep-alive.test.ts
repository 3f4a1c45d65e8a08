import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const script = fileURLToPath(new URL('./processes/wait-for-job.ts', import.meta.url));

it('keeps a program alive that waits for a job which nothing in it runs yet', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', script]);
  expect(stdout).toBe('ERROR\n');
});
