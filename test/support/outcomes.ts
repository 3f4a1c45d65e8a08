import type { ResultAsync } from 'neverthrow';

/** What a call that succeeds comes to; throws its error where it doesn't. */
export async function resultOf<Value, Failure>(call: ResultAsync<Value, Failure>): Promise<Value> {
  const outcome = await call;
  if (outcome.isErr()) throw outcome.error;
  return outcome.value;
}

/** The error of a call that fails. */
export async function errorOf<Value, Failure>(call: ResultAsync<Value, Failure>): Promise<Failure> {
  return (await call)._unsafeUnwrapErr();
}
