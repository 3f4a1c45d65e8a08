import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.js';

const runner = fileURLToPath(new URL('../../dist/training-runner.js', import.meta.url));

it('a child process whose parent is gone ends without a complaint', async () => {
  const child = fork(runner, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  const complaints: string[] = [];
  child.stderr?.on('data', (data: Buffer) => complaints.push(data.toString()));
  const spec = {
    id: 'orphan',
    dataset: { url: await anEndlessDataset() },
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

/** The URL of a dataset that never comes. */
async function anEndlessDataset(): Promise<string> {
  const server = createServer(() => undefined);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/dataset.zip`;
}
