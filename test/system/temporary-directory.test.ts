import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { aDirectory } from '../storage/temporary-place.js';

const script = fileURLToPath(new URL('./processes/temporary-directory.ts', import.meta.url));

it('is removed by the next process that needs one, where its own was killed', async () => {
  const TMPDIR = await aDirectory();
  const start = () =>
    spawn(process.execPath, ['--import', 'tsx', script], {
      env: { ...process.env, TMPDIR },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  const ours = async () => (await readdir(TMPDIR)).filter((name) => name.startsWith('orchard-'));
  const killed = start();
  await once(killed.stdout, 'data');
  const [left] = await ours();
  killed.kill('SIGKILL');
  await once(killed, 'exit');
  expect(await ours()).toEqual([left]);
  const next = start();
  await once(next.stdout, 'data');
  const there = await ours();
  expect(there).toHaveLength(1);
  expect(there).not.toContain(left);
  next.kill('SIGKILL');
});
