import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { StoredKey } from '../../src/http/index.js';
import type { BenchDatabase } from './a-database.js';

const command = fileURLToPath(new URL('../../dist/orchard.js', import.meta.url));
/** USER_HZ of Linux: what times in /proc are counted in. */
const TICKS_PER_S = 100;

/** `orchard serve` in a process of its own. */
export class ServiceProcess {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #url: string;

  private constructor(child: ChildProcess, folder: string, url: string) {
    this.#child = child;
    this.#folder = folder;
    this.#url = url;
  }

  /** Resolves when it listens. @param launcher what starts it, such as taskset. */
  static async start(
    { connectionString, schema }: BenchDatabase,
    args: readonly string[],
    keys: readonly StoredKey[],
    launcher: readonly string[] = [],
  ): Promise<ServiceProcess> {
    const folder = mkdtempSync(join(tmpdir(), 'orchard-bench-'));
    const own = ['serve', '--port', '0', '--data', folder, '--schema', schema, '--allow-private-addresses'];
    const [program = '', ...rest] = [...launcher, process.execPath, command, ...own, ...args];
    const child = spawn(program, rest, {
      env: { ...process.env, ORCHARD_DATABASE: connectionString, ORCHARD_KEYS: JSON.stringify(keys) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    for await (const line of createInterface(child.stderr)) {
      const url = /(http:\S+?)(?:;|\/ready)/.exec(line)?.[1];
      if (url === undefined) continue;
      child.stderr.resume();
      return new ServiceProcess(child, folder, url);
    }
    throw new Error('the service did not start');
  }

  async ask(apiKey: string, method: string, path: string, body?: object) {
    const response = await fetch(this.#url + path, {
      method,
      headers: { 'x-api-key': apiKey, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer = JSON.parse(await response.text());
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  }

  /** Processor time of all its threads so far, and of the child processes that have ended. */
  cpuMs(): number {
    const stat = readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8');
    // After the name in brackets, which may hold spaces; fields 14 to 17 are the user and system time, its own and its children's.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return (ticks * 1000) / TICKS_PER_S;
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await ended;
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
