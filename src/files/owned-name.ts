import { createHash, randomUUID } from 'node:crypto';
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

function hostDigits({ host }: ProcessIdentity): string {
  return createHash('sha256').update(host).digest('hex').slice(0, 16);
}
