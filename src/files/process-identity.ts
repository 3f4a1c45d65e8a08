import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** A process as others on the same disk can recognise it. */
export interface ProcessIdentity {
  readonly pid: number;
  /**
   * The machine and, on Linux, the process id namespace (so the container) and the boot in which the pid is
   * valid.
   */
  readonly host: string;
  /**
   * When it started, in kernel ticks; tells it from a later process with the same pid. Linux only, else ''.
   */
  readonly started: string;
}

export const thisProcess: ProcessIdentity = {
  pid: process.pid,
  host: `${hostname()} ${pidNamespace()} ${bootId()}`.trim(),
  started: linuxStatus(process.pid)?.started ?? '',
};

/** True only if the process has certainly ended; nothing is certain about those of another machine. */
export function hasEnded({ pid, host, started }: ProcessIdentity): boolean {
  if (host !== thisProcess.host) return false;
  if (!isRunning(pid)) return true;
  const status = linuxStatus(pid);
  return status !== undefined && (status.isOver || (started !== '' && status.started !== started));
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (thrown) {
    // EPERM: it runs, under another user.
    return !(thrown instanceof Error && 'code' in thrown && thrown.code === 'ESRCH');
  }
}

/**
 * From /proc/<pid>/stat (proc(5)): field 3 is the state, 20 the number of threads, 22 the start time. A
 * zombie is over once no other thread is left: until then, a system call of another thread may still take
 * effect.
 */
function linuxStatus(pid: number): { started: string; isOver: boolean } | undefined {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fieldsFrom3 = line.slice(line.lastIndexOf(')') + 2).split(' ');
    const started = fieldsFrom3[22 - 3];
    const isOver = fieldsFrom3[0] === 'Z' && Number(fieldsFrom3[20 - 3]) <= 1;
    return started === undefined ? undefined : { started, isOver };
  } catch {
    return undefined;
  }
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return '';
  }
}
