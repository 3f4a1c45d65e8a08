import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { anEndlessDataset } from './endless-dataset.js';

const runner = fileURLToPath(new URL('../../dist/training-runner.js', import.meta.url));

it('a child process whose parent is gone ends without a complaint', async () => {
  const child = fork(runner, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  const complaints: string[] = [];
  child.stderr?.on('data', (data: Buffer) => complaints.push(data.toString()));
  const spec = {
    id: 'orphan',
    dataset: { url: (await anEndlessDataset()).url },
    model_config: { name: 'orphan', type: 'binary-text-classification', family: 'Papaya', size: 'mini' },
    training_config: {},
    seed: 0,
    directory: temporaryDirectory(),
    threads: 1,
    allowFileUrls: false,
    tuning: {},
  };
  child.send({ type: 'run', spec });
  await once(child, 'message'); // it is under way
  child.disconnect();
  const [exitCode] = await once(child, 'exit');
  expect(complaints.join('')).toBe('');
  expect(exitCode).toBe(0);
});
