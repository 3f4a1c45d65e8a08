import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { BenchDatabase } from './a-database.js';

const command = fileURLToPath(new URL('../../dist/orchard.js', import.meta.url));
/** USER_HZ of Linux: what times in /proc are counted in. */
const TICKS_PER_S = 100;

/** `orchard serve --role trainer`, on one processor. */
export class TrainerProcess {
  readonly #child: ChildProcess;
  readonly #folder: string;

  private constructor(child: ChildProcess, folder: string) {
    this.#child = child;
    this.#folder = folder;
  }

  /** Resolves when it listens. */
  static async start({ connectionString, schema }: BenchDatabase, core: string): Promise<TrainerProcess> {
    const folder = mkdtempSync(join(tmpdir(), 'orchard-bench-'));
    const args = ['serve', '--role', 'trainer', '--port', '0', '--data', folder, '--schema', schema];
    const child = spawn('taskset', ['-c', core, process.execPath, command, ...args], {
      env: { ...process.env, ORCHARD_DATABASE: connectionString },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const trainer = new TrainerProcess(child, folder);
    for await (const line of createInterface(child.stderr)) {
      if (!line.includes('/ready')) continue;
      child.stderr.resume();
      return trainer;
    }
    throw new Error('the trainer did not start');
  }

  /** Processor time of all its threads so far. */
  cpuMs(): number {
    const stat = readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8');
    // After the name in brackets, which may hold spaces; user time is field 14, system time 15.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_S;
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await ended;
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
