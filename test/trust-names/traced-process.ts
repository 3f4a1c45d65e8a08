import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** Processes of Node under strace: which files they make, and whether they reach for the network. */

/** Calls that nobody asked about cost nothing (strace 5.3 and later). */
const FAST = ['-qq', '--seccomp-bpf'];

/** Some containers forbid tracing. */
const canTrace =
  process.platform === 'linux' && spawnSync('strace', ['-f', ...FAST, '-o', '/dev/null', 'true']).status === 0;
if (!canTrace) {
  console.warn('SKIPPED: what leaves a process is not looked at, since strace is not installed or may not trace here');
}

/** Tests that need strace. Without it they are skipped, and a warning says so. */
export const describeTraced = describe.runIf(canTrace);

/** What a process did, those that it started and their threads included. */
export interface Traced {
  readonly stdout: string;
  readonly stderr: string;
  /** Sockets that it made, but for those that lead nowhere else than to this machine (AF_UNIX). */
  readonly sockets: readonly string[];
  /** Reads of what a name is looked up in first. */
  readonly lookups: readonly string[];
  /** Files and folders that it made, opened for writing, linked or renamed. */
  readonly written: readonly string[];
}

const MAKES = 'open,openat,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,symlink,symlinkat';

/** Runs Node with an environment that has next to nothing, and no home. @param temporary its TMPDIR */
export async function traced(
  args: readonly string[],
  { cwd, temporary, env = {} }: { readonly cwd: string; readonly temporary: string; readonly env?: NodeJS.ProcessEnv },
): Promise<Traced> {
  const traces = join(temporaryDirectory(), 'traces');
  mkdirSync(traces);
  const { stdout, stderr } = await promisify(execFile)(
    'strace',
    // A file for each thread, so that no call is cut in two by another's.
    ['-ff', ...FAST, '-s', '4096', '-e', `trace=socket,${MAKES}`, '-o', join(traces, 't'), process.execPath, ...args],
    { cwd, env: { PATH: process.env.PATH, TMPDIR: temporary, ...env } },
  );
  const calls = readdirSync(traces).flatMap((name) => readFileSync(join(traces, name), 'utf8').split('\n'));
  const succeeded = calls.filter((call) => !/ = -1 E/.test(call));
  return {
    stdout,
    stderr,
    sockets: calls.filter((call) => call.startsWith('socket(') && !call.includes('AF_UNIX')),
    lookups: calls.filter((call) => /"\/etc\/hosts"/.test(call)),
    written: succeeded.flatMap((call) => writtenBy(call, cwd)),
  };
}

/** The paths that a call writes to; none if it only reads. */
function writtenBy(call: string, cwd: string): readonly string[] {
  const isOpen = /^(open|openat)\(/.test(call);
  if (isOpen && !/O_(CREAT|WRONLY|RDWR|TRUNC)/.test(call)) return [];
  const paths = [...call.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, path = '']) => resolve(cwd, path));
  return paths.filter((path) => !path.startsWith('/dev/') && !path.startsWith('/proc/'));
}

/** Those that lie in none of the folders. */
export function outside(paths: readonly string[], folders: readonly string[]): readonly string[] {
  return paths.filter((path) => !folders.some((folder) => path === folder || path.startsWith(`${folder}/`)));
}
