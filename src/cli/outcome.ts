import type { ResultAsync } from 'neverthrow';
import type { OrchardError } from '../errors.js';

/** What a call of the library comes to. @throws the error that it fails with */
export async function outcomeOf<Value>(call: ResultAsync<Value, OrchardError>): Promise<Value> {
  const outcome = await call;
  if (outcome.isErr()) throw outcome.error;
  return outcome.value;
}
