import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { hasEnded, type ProcessIdentity, thisProcess } from './process-identity.js';

const OWNED = /^(\d+)\.(\d*)\.([0-9a-f]{16})\.[0-9a-f-]{36}$/;
const THIS_HOST = hostDigits(thisProcess);

/**
 * A new name for what only this process may use. It says which process that is, so that another one can tell
 * by the name alone when nobody needs it any more.
 */
export function ownedName(): string {
  return `${thisProcess.pid}.${thisProcess.started}.${THIS_HOST}.${randomUUID()}`;
}

/** What has become of the process that made a name; unknown where it is of another machine, or no such name. */
export function ownerOf(name: string): 'living' | 'ended' | 'unknown' {
  const [, pid, started = '', host] = OWNED.exec(name) ?? [];
  if (pid === undefined || host !== THIS_HOST) return 'unknown';
  return hasEnded({ pid: Number(pid), host: thisProcess.host, started }) ? 'ended' : 'living';
}

/**
 * Ends the process that made a name, if it lives and is certainly the one. Waits until it has ended, at most as
 * long as this.
 */
export async function endOwnerOf(name: string, patienceMs: number): Promise<void> {
  const [, pid, started] = OWNED.exec(name) ?? [];
  const isOther = pid !== undefined && Number(pid) !== process.pid;
  if (isOther && started !== '' && ownerOf(name) === 'living') killIfThere(Number(pid));
  const since = performance.now();
  while (isOther && ownerOf(name) === 'living' && performance.now() - since < patienceMs) await delay(10);
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has ended meanwhile, or is another user's
  }
}

function hostDigits({ host }: ProcessIdentity): string {
  return createHash('sha256').update(host).digest('hex').slice(0, 16);
}
