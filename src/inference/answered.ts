import { ResultAsync } from 'neverthrow';
import { AbortedError, type OrchardError, toOrchardError } from '../errors.js';

export interface CallOptions {
  /** Aborts the call, and the loading of a model that it waits for; a run that has begun ends in its thread. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * What a call of a public class comes to: here what is thrown beneath it becomes the error of a result. An AbortedError
 * as soon as the signal fires; what a thread has been given by then it still finishes, and nobody hears of it.
 * @param work is not begun where the signal has fired already.
 */
export function answered<Value>(
  operation: string,
  signal: AbortSignal | undefined,
  work: () => Promise<Value>,
): ResultAsync<Value, OrchardError> {
  const outcome = signal === undefined ? work() : untilAborted(operation, signal, work);
  return ResultAsync.fromPromise(outcome, (thrown) => toOrchardError(thrown, operation));
}

async function untilAborted<Value>(
  operation: string,
  signal: AbortSignal,
  work: () => Promise<Value>,
): Promise<Value> {
  const error = () => new AbortedError(operation, { cause: signal.reason });
  if (signal.aborted) throw error();
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(error());
  });
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
