import { createHash, randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

/** The process id, its start in kernel ticks (Linux only), its machine, and a UUID. */
const OWNED = /^(\d+)\.(\d*)\.([0-9a-f]{16})\.[0-9a-f-]{36}$/;
/** When this process started; tells it from a later process with the same id. */
const STARTED = linuxStatus(process.pid)?.started ?? '';
/** The machine and, on Linux, the process id namespace (so the container) and the boot in which ids are valid. */
const HOST = createHash('sha256')
  .update(`${hostname()} ${pidNamespace()} ${bootId()}`.trim())
  .digest('hex')
  .slice(0, 16);

/**
 * A new name for something that only this process may use. It says which process that is, so that another one can tell
 * by the name alone when it is no longer needed.
 */
export function ownedName(): string {
  return `${process.pid}.${STARTED}.${HOST}.${randomUUID()}`;
}

/** The state of the process that made a name; undefined if {@link ownedName} made no such name. */
export function ownerOf(name: string): 'living' | 'ended' | 'elsewhere' | undefined {
  const [, pid, started = '', host] = OWNED.exec(name) ?? [];
  if (pid === undefined) return undefined;
  if (host !== HOST) return 'elsewhere';
  return hasEnded(Number(pid), started) ? 'ended' : 'living';
}

/**
 * Ends the process that made a name, if it lives and is certainly the same one. Waits until it has ended, at most
 * `patienceMs`.
 */
export async function endOwnerOf(name: string, patienceMs: number): Promise<void> {
  const [, pid, started] = OWNED.exec(name) ?? [];
  if (pid === undefined || Number(pid) === process.pid) return;
  if (started !== '' && ownerOf(name) === 'living') killIfThere(Number(pid));
  const since = performance.now();
  while (ownerOf(name) === 'living' && performance.now() - since < patienceMs) await delay(10);
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has ended meanwhile, or is another user's
  }
}

function hasEnded(pid: number, started: string): boolean {
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
