import { setTimeout as delay } from 'node:timers/promises';
import { isConnectionLost } from './connection-failure.js';

/** Between attempts: together as long as a server takes to restart. */
const PAUSES_MS = [100, 500, 1000, 2000, 4000];
/** A server that says nothing takes longer with each attempt; after this there is no other. */
const LAST_ATTEMPT_MS = 10_000;

/** Does what may be done twice, and again where the connection broke meanwhile. @throws what the last attempt threw. */
export async function patiently<T>(work: () => Promise<T>): Promise<T> {
  const since = performance.now();
  for (const pauseMs of PAUSES_MS) {
    try {
      return await work();
    } catch (thrown) {
      if (!isConnectionLost(thrown) || performance.now() - since > LAST_ATTEMPT_MS) throw thrown;
    }
    await delay(pauseMs);
  }
  return work();
}
