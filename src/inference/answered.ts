import { ResultAsync } from 'neverthrow';
import { AbortedError, type OrchardError, toOrchardError } from '../contract/index.js';
import { onAbort } from './on-abort.js';

/**
 * Runs a call of a public class; what is thrown beneath becomes the error of its result. When the signal
 * fires, the result is an AbortedError at once. Work that a thread has been given by then still finishes, and
 * its result is discarded.
 * @param work is not begun if the signal has fired already.
 */
export function toResult<Value>(
  operation: string,
  signal: AbortSignal | undefined,
  work: () => Promise<Value>,
): ResultAsync<Value, OrchardError> {
  const outcome = signal === undefined ? work() : untilAborted(operation, signal, work);
  return ResultAsync.fromPromise(outcome, (thrown) => toOrchardError(thrown, operation));
}

async function untilAborted<Value>(operation: string, signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
  const error = () => new AbortedError(operation, { cause: signal.reason });
  if (signal.aborted) throw error();
  let forget = () => {};
  const aborted = new Promise<never>((_, reject) => {
    forget = onAbort(signal, () => reject(error()));
  });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    forget();
  }
}
