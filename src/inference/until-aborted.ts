import { err, errAsync, type Result, ResultAsync } from 'neverthrow';
import { AbortedError } from '../errors.js';

export interface CallOptions {
  /** Aborts the call, and the loading of a model that it waits for; a run that has begun ends in its thread. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * What the work comes to, or an AbortedError as soon as the signal fires. What a thread has been given by then it still
 * finishes, and nobody hears of it.
 */
export function untilAborted<Value, Failure>(
  work: () => ResultAsync<Value, Failure>,
  operation: string,
  signal: AbortSignal | undefined,
): ResultAsync<Value, Failure | AbortedError> {
  if (signal === undefined) return work();
  const aborted = () => new AbortedError(operation, { cause: signal.reason });
  if (signal.aborted) return errAsync(aborted());
  return new ResultAsync(
    new Promise<Result<Value, Failure | AbortedError>>((resolve) => {
      const stop = () => resolve(err(aborted()));
      signal.addEventListener('abort', stop, { once: true });
      work().then((outcome) => {
        signal.removeEventListener('abort', stop);
        resolve(outcome);
      });
    }),
  );
}
