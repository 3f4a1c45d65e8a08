import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough, Readable, type Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { orchard } from '../../src/cli/index.js';
import type { Terminal } from '../../src/cli/terminal.js';

/** The command `orchard`, in this process or in one of its own. */

export interface Ran {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Where a command runs; by default nothing is typed, and no stream is a terminal. */
export interface Surroundings {
  readonly input?: string | Uint8Array | Readable;
  readonly env?: NodeJS.ProcessEnv;
  /** Characters per line of the terminal. */
  readonly columns?: number;
  /** Streams that are a person's terminal. */
  readonly terminals?: readonly ('stdin' | 'stdout' | 'stderr')[];
}

/** Runs the command here. */
export async function run(args: readonly string[], surroundings: Surroundings = {}): Promise<Ran> {
  const { input = '', env = {}, terminals = [], columns } = surroundings;
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const written = Promise.all([text(stdout), text(stderr)]);
  const terminal: Terminal = {
    stdin: Object.assign(input instanceof Readable ? input : Readable.from([Buffer.from(input)]), {
      isTTY: terminals.includes('stdin'),
    }),
    stdout: Object.assign(stdout, {
      isTTY: terminals.includes('stdout'),
      ...(columns && { columns }),
    }),
    stderr: Object.assign(stderr, { isTTY: terminals.includes('stderr') }),
    env,
  };
  const exitCode = await orchard(args, terminal);
  stdout.end();
  stderr.end();
  const [out, err] = await written;
  return { exitCode, stdout: out, stderr: err };
}

export const command = fileURLToPath(new URL('../../dist/orchard.js', import.meta.url));

/** Starts the built command; it ends with the test at the latest. */
export function start(args: readonly string[], env: NodeJS.ProcessEnv = process.env) {
  const child = spawn(process.execPath, [command, ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const stderr = text(child.stderr);
  const ended = once(child, 'close').then(([exitCode, signal]: unknown[]) => ({ exitCode, signal }));
  return { child, stderr, ended };
}

/** Writes without end until the other side closes. @returns how many bytes it took */
export async function pour(into: Writable, chunk: string, most: number): Promise<number> {
  let written = 0;
  into.on('error', () => undefined); // the other side has closed
  while (written < most && into.writable) {
    written += chunk.length;
    if (!into.write(chunk)) await Promise.race([once(into, 'drain'), once(into, 'close')]).catch(() => undefined);
  }
  return written;
}
