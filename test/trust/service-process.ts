import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { StoredKey } from '../../src/http/index.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const command = fileURLToPath(new URL('../../dist/orchard.js', import.meta.url));

type OnEnd = (end: () => void) => void;

/**
 * `orchard serve` on a free port, over a folder of its own, until the test has ended.
 * @param launcher what starts it, such as a shell. @param onEnd takes what ends it. Default: with the running test
 * @param options more options of the command
 */
export async function aServiceProcess(
  keys: readonly StoredKey[],
  launcher: readonly string[] = [],
  onEnd: OnEnd = onTestFinished,
  options: readonly string[] = [],
): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const args = ['serve', '--port', '0', '--data', temporaryDirectory(onEnd), '--allow-private-addresses', ...options];
  const [program = '', ...rest] = [...launcher, process.execPath, command, ...args];
  const child = spawn(program, rest, {
    // docs/http.md advises the second.
    env: { ...process.env, ORCHARD_KEYS: JSON.stringify(keys), MALLOC_ARENA_MAX: '2' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onEnd(() => void child.kill('SIGKILL'));
  const lines: string[] = [];
  for await (const line of createInterface(child.stderr)) {
    lines.push(line);
    const url = /Orchard answers at (\S+);/.exec(line)?.[1];
    if (url === undefined) continue;
    child.stderr.resume();
    return { child, url };
  }
  throw new Error(`orchard serve ended: ${lines.join('\n')}`);
}

/** A server that gives this dataset to whoever asks for dataset.zip, until the test has ended. @returns its URL */
export async function aDatasetServer(zip: Buffer, onEnd: OnEnd = onTestFinished): Promise<string> {
  const server = createServer(({ url }, response) => (url === '/dataset.zip' ? response.end(zip) : undefined));
  onEnd(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return `http://127.0.0.1:${port}/dataset.zip`;
}
