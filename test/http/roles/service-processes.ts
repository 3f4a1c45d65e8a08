import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFailed, onTestFinished } from 'vitest';
import { newApiKey } from '../../../src/http/index.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

/** `orchard serve` in processes of any role over one database, as an operator runs them. */

const command = fileURLToPath(new URL('../../../dist/orchard.js', import.meta.url));

export const acme = newApiKey({ app_id: 'acme', tier: 'pro' });
export const other = newApiKey({ app_id: 'other', tier: 'basic' });
export const boss = newApiKey({ app_id: 'boss', tier: 'pro' });

/** A database, and the part of it that a test has for itself. */
export interface TestDatabase {
  readonly connectionString: string;
  readonly schema: string;
}

export interface Question {
  readonly key?: { readonly apiKey: string };
  readonly type?: string;
  /** Sent as JSON; bytes as they are. */
  readonly body?: unknown;
}

/** A process until the test has ended, with folders of its own, as if on a machine of its own. */
export async function aServiceProcess(
  { connectionString, schema }: TestDatabase,
  args: readonly string[],
  launcher: readonly string[] = [],
) {
  const data = temporaryDirectory();
  const operatorKeys = join(data, 'operators.json');
  writeFileSync(operatorKeys, JSON.stringify([boss.stored]));
  const own = ['serve', '--port', '0', '--data', data, '--schema', schema, '--operator-keys', operatorKeys];
  const all = [...launcher, process.execPath, command, ...own, '--allow-private-addresses', ...args];
  const child = spawn(all[0] ?? '', all.slice(1), {
    env: {
      ...process.env,
      ORCHARD_DATABASE: connectionString,
      ORCHARD_KEYS: JSON.stringify([acme.stored, other.stored]),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const log: string[] = [];
  child.stdout.setEncoding('utf8').on('data', (piece: string) => log.push(piece));
  const said: string[] = [];
  onTestFailed(() => console.error(`orchard serve, ended with ${child.exitCode}, said:\n${said.join('\n')}`));
  const url = await urlIn(child, said);
  return { child, url, data, said, log, ask: asking(url), stop: () => stopped(child) };
}

async function urlIn({ stderr }: ChildProcess, said: string[]): Promise<string> {
  if (stderr === null) throw new Error('no standard error');
  const lines = createInterface(stderr);
  const found = new Promise<string>((resolve, reject) => {
    lines.on('line', (line) => {
      said.push(line);
      const url = /(http:\S+?)(?:;|\/ready)/.exec(line)?.[1];
      if (url !== undefined) resolve(url);
    });
    lines.once('close', () => reject(new Error(`orchard serve ended: ${said.join('\n')}`)));
  });
  return found;
}

function asking(url: string) {
  return async (method: string, path: string, { key = acme, type, body }: Question = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        'x-api-key': key.apiKey,
        ...(body !== undefined && { 'content-type': type ?? 'application/json' }),
      },
      ...(body !== undefined && { body: body instanceof Blob ? body : JSON.stringify(body) }),
    });
    const { status, headers } = response;
    return { status, headers, body: JSON.parse(await response.text()) };
  };
}

/** Asks a process to stop, and waits until it has. @returns its exit code. */
export async function stopped(child: ChildProcess): Promise<unknown> {
  if (child.exitCode !== null) return child.exitCode;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  return (await exited)[0];
}

export type ServiceProcess = Awaited<ReturnType<typeof aServiceProcess>>;
