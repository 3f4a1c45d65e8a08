import { setTimeout as delay } from 'node:timers/promises';
import { AbortedError } from '../errors.js';
import { PassingFailure } from './hub-request.js';
import type { HubSettings } from './hub-settings.js';

/** Longest pause that a server is granted, whatever it asks for. */
const MAX_PAUSE_MS = 60_000;

export interface Retrying {
  readonly model: string;
  readonly signal?: AbortSignal | undefined;
  /** What has been achieved so far, such as bytes on the disk; more of it than before starts the count anew. */
  readonly progress?: () => Promise<number>;
}

/** Repeats work that fails with a PassingFailure; the last one's error is thrown. @throws AbortedError */
export async function retrying<T>(
  work: () => Promise<T>,
  { retries, retryPauseMs }: Pick<HubSettings, 'retries' | 'retryPauseMs'>,
  { model, signal, progress = async () => 0 }: Retrying,
): Promise<T> {
  let best = await progress();
  for (let failures = 1; ; failures += 1) {
    try {
      return await work();
    } catch (thrown) {
      if (!(thrown instanceof PassingFailure)) throw thrown;
      const achieved = await progress();
      if (achieved > best) failures = 1;
      best = Math.max(best, achieved);
      if (failures > retries) throw thrown.error;
      const pauseMs = thrown.pauseMs ?? retryPauseMs * 2 ** (failures - 1);
      await pause(Math.min(pauseMs, MAX_PAUSE_MS), model, signal);
    }
  }
}

async function pause(ms: number, model: string, signal: AbortSignal | undefined): Promise<void> {
  try {
    await delay(ms, undefined, { signal });
  } catch (cause) {
    throw new AbortedError(`loading model ${model}`, { cause });
  }
}
