import type { JobStreamEvent } from '../schemas.js';
import { type Job, Refused, type Service } from './service.js';

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15_000;

export function hasEnded({ status }: Job): boolean {
  return !['CREATED', 'QUEUED', 'RUNNING'].includes(status);
}

/**
 * What happens to a job until it has ended, over as many connections as it takes; each begins with the whole state.
 * @param onLost told when the connection is lost, before it is tried again.
 * Rejects with a Refused where the job can't be watched.
 */
export async function* watchJob(
  service: Service,
  id: string,
  signal: AbortSignal,
  onLost: () => void,
): AsyncGenerator<JobStreamEvent, void, undefined> {
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
    try {
      for await (const event of service.jobEvents(id, signal)) {
        if (event.event === 'failed') break;
        yield event;
        if (event.event === 'job' && hasEnded(event.data)) return;
        waitMs = FIRST_WAIT_MS;
      }
    } catch (thrown) {
      if (signal.aborted || (thrown instanceof Refused && isFinal(thrown))) throw thrown;
    }
    signal.throwIfAborted();
    onLost();
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}

/** Whether to ask again would bring the same answer. */
function isFinal({ status }: Refused): boolean {
  return status >= 400 && status < 500 && status !== 429;
}
