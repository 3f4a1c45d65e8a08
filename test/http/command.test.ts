import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newApiKey, serve } from '../../src/http/index.js';
import { fileStorage } from '../../src/storage/index.js';
import { run as runHere } from '../cli/run-command.js';
import { aRequest } from '../jobs/request.js';
import { aReadyModelIn } from '../support/ready-model.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { gets, rawConnection } from './raw-connection.js';

/** The built command, as an operator uses it. */

const command = fileURLToPath(new URL('../../dist/orchard.js', import.meta.url));
const run = (...args: string[]) => promisify(execFile)(process.execPath, [command, ...args]);

/** Starts `orchard serve` on a free port. */
async function started(args: readonly string[], environment: Record<string, string> = {}) {
  const child = spawn(process.execPath, [command, 'serve', '--port', '0', ...args], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const log = text(child.stdout);
  const lines: string[] = [];
  for await (const line of createInterface(child.stderr)) {
    lines.push(line);
    const url = /Orchard answers at (\S+);/.exec(line)?.[1];
    if (url !== undefined) return { child, url, lines, log };
  }
  throw new Error(`orchard serve ended: ${lines.join('\n')}`);
}

/** Asks the service to stop, and waits until it has. @returns its exit code. */
async function stopped(child: ChildProcess): Promise<unknown> {
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  return (await exited)[0];
}

const bodyOf = async (response: Response) => JSON.parse(await response.text());

/** A server that is asked for a dataset and never gives it. */
async function aStuckDataset() {
  let asked: () => void = () => undefined;
  const server = createServer(() => asked());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const nextRequest = () =>
    new Promise<void>((resolve) => {
      asked = resolve;
    });
  return { url: `http://127.0.0.1:${port}/reviews.zip`, nextRequest };
}

describe('orchard serve', () => {
  describe.skipIf(process.platform === 'win32').each(['worker', 'process'])('with isolation %s', (isolation) => {
    it('stops at SIGTERM with its job resumable, and takes it up at the next start', async () => {
      const dataset = await aStuckDataset();
      const { apiKey, stored } = newApiKey({ app_id: 'acme', tier: 'basic' });
      const environment = { ORCHARD_KEYS: JSON.stringify([stored]) };
      const args = ['--data', temporaryDirectory(), '--allow-private-addresses', '--isolation', isolation];
      const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };

      const first = await started(args, environment);
      const firstRequest = dataset.nextRequest();
      const created = await fetch(`${first.url}/trainer/language/training-jobs`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ ...aRequest, dataset_url: dataset.url }),
      });
      const { id } = await bodyOf(created);
      await firstRequest;
      expect(await stopped(first.child)).toBe(0);
      expect(await first.log).toMatch(/"path":"\/trainer\/language\/training-jobs","status":200/);

      const secondRequest = dataset.nextRequest();
      const second = await started(args, environment);
      await secondRequest;
      const read = await fetch(`${second.url}/trainer/language/training-jobs/${id}`, { headers });
      expect((await bodyOf(read)).data.status).toBe('RUNNING');
      expect(await stopped(second.child)).toBe(0);
    });
  });

  it.skipIf(process.platform === 'win32').each([
    ['SIGTERM', 'SIGTERM'],
    ['SIGTERM', 'SIGINT'],
  ] as const)('after a %s, ends at once at a %s, even if a request is still arriving', async (first, second) => {
    const { apiKey, stored } = newApiKey({ app_id: 'acme', tier: 'pro' });
    const environment = { ORCHARD_KEYS: JSON.stringify([stored]) };
    const { child, url } = await started(['--data', temporaryDirectory()], environment);
    const connection = await rawConnection(url);
    const headers = `host: test\r\nx-api-key: ${apiKey}\r\ncontent-type: application/json\r\ncontent-length: 9`;
    connection.write(`POST /medley/language HTTP/1.1\r\n${headers}\r\n\r\n{`);
    const listens = () => fetch(`${url}/health`).then(Boolean, () => false);
    expect(await listens()).toBe(true);
    const exited = once(child, 'exit');
    child.kill(first);
    while (await listens());
    child.kill(second);
    expect(await exited).toEqual([null, second]);
  });

  it('outlives a connection that asks for 3,000 files and reads none, and answers others', async () => {
    const { child, url } = await started(['--data', temporaryDirectory()]);
    const greedy = await Promise.all(Array.from({ length: 60 }, () => rawConnection(url)));
    for (const each of greedy.slice(0, 10)) each.write(gets('/docs/swagger-ui-bundle.js', 3000));
    for (const each of greedy.slice(10)) each.write(gets('/docs/swagger-ui-bundle.js', 15));
    for (let asked = 0; asked < 20; asked += 1) expect((await fetch(`${url}/health`)).status).toBe(200);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    const resident = Number(/^process_resident_memory_bytes (\S+)/m.exec(metrics)?.[1]);
    expect(resident).toBeLessThan(400 * 2 ** 20);
    await stopped(child);
  });

  it('keeps the given quota, also after a restart', async () => {
    const data = temporaryDirectory();
    const id = await aReadyModelIn(fileStorage(data), 'acme');
    const { apiKey, stored } = newApiKey({ app_id: 'acme', tier: 'basic' });
    const environment = { ORCHARD_KEYS: JSON.stringify([stored]) };
    const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
    for (const expected of [
      [200, 200],
      [200, 429],
    ]) {
      const { child, url } = await started(['--data', data, '--quota', '3/month'], environment);
      const path = `${url}/predictor/language/model/${id}`;
      const ask = async () => (await fetch(path, { method: 'POST', headers, body: '{"query": "a"}' })).status;
      expect([await ask(), await ask()]).toEqual(expected);
      await stopped(child);
    }
  });

  it('looks at no more keys from an address after the wrong ones that it allows', async () => {
    const args = ['--data', temporaryDirectory(), '--wrong-keys-per-minute', '1'];
    const { child, url } = await started(args);
    const guess = async () =>
      (await fetch(`${url}/trainer/language/models`, { headers: { 'x-api-key': 'guess' } })).status;
    expect([await guess(), await guess()]).toEqual([401, 429]);
    await stopped(child);
  });

  it('makes a key for the run where none is given', async () => {
    const { url, lines, child } = await started(['--data', temporaryDirectory()]);
    const apiKey = /x-api-key for this run: (\S+)/.exec(lines.join('\n'))?.[1] ?? '';
    const answer = await fetch(`${url}/trainer/language/models`, { headers: { 'x-api-key': apiKey } });
    expect(answer.status).toBe(200);
    await stopped(child);
  });

  it.each([
    [['--port', 'http'], /port: give a whole number/],
    [['--port', '65536'], /port: /],
    [['--colour', 'red'], /--colour/],
    [['--data'], /--data/],
    [['--requests-per-minute', '0'], /requests-per-minute: /],
    [['--quota', '1000'], /quota: give inference calls and their period/],
    [['--quota', '0/month'], /quota: /],
    [['--wrong-keys-per-minute', '0'], /wrong-keys-per-minute: /],
    [['--isolation', 'inline'], /Allowed choices are worker, process/],
    [['--device', 'gpu'], /Allowed choices are auto, cpu, webgpu/],
    [['--workers', '0'], /workers: /],
    [['--max-waiting', '0'], /max-waiting: /],
    [['--max-connections', 'many'], /max-connections: /],
    [['--role', 'api'], /--role: roles need a shared database; add --database/],
    [['--schema', 'mine'], /schema: schemas exist only in a database/],
    [['--jobs', '2'], /jobs: without a database/],
    [['--database', 'mysql://host/name'], /database: give a URL such as postgres:/],
    [['--database', 'postgres://host/name', '--role', 'queen'], /Allowed choices are api, trainer, all/],
    [['--database', 'postgres://host/name', '--schema', 'a-b'], /schema: give at most 40/],
  ])('refuses %j', async (args, message) => {
    const { exitCode, stderr } = await runHere(['serve', ...args]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringMatching(message) });
  });

  it.each([
    [{ ORCHARD_DATABASE: 'mysql://host/name' }, /--database: give a URL such as postgres:/],
    [{ ORCHARD_RUNTIME: 'gpu' }, /--runtime: give one of auto, onnx, wasm/],
    [{ ORCHARD_DEVICE: 'gpu' }, /--device: give one of auto, cpu, webgpu/],
  ])('takes %j from the environment, and checks it', async (env, message) => {
    const { exitCode, stderr } = await runHere(['serve'], { env });
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringMatching(message) });
  });

  it('reports a missing key file, and does not start', async () => {
    const failure = await run('serve', '--keys', '/no/such/file').catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^the key file \/no\/such\/file/),
    });
  });

  it('on a port in use says so', async () => {
    const server = await serve(async () => new Response(), { port: 0 });
    onTestFinished(() => server.close());
    const args = ['--port', new URL(server.url).port, '--data', temporaryDirectory()];
    const failure = await run('serve', ...args).catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^orchard serve: .*EADDRINUSE/m),
    });
  });
});

it('orchard new-key prints a key and keeps its hash alone', async () => {
  const file = join(temporaryDirectory(), 'keys.json');
  const { stdout } = await run('new-key', '--app-id', 'acme', '--tier', 'basic', '--keys', file);
  const { url } = await started(['--keys', file, '--data', temporaryDirectory()]);
  const headers = { 'x-api-key': stdout.trim() };
  expect((await fetch(`${url}/trainer/language/models`, { headers })).status).toBe(200);
});
