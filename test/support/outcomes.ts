import type { ResultAsync } from 'neverthrow';
import { isOrchardError, type OrchardError } from '../../src/contract/errors.js';

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

type ErrorOf<Code extends OrchardError['code']> = Extract<OrchardError, { readonly code: Code }>;

/** The error with this code that some work throws or rejects with; any other outcome fails the test. */
export async function failureOf<Code extends OrchardError['code']>(
  code: Code,
  work: () => unknown,
): Promise<ErrorOf<Code>> {
  try {
    await work();
  } catch (thrown) {
    if (hasCode(thrown, code)) return thrown;
    throw thrown;
  }
  throw new Error(`expected an error with code ${code}, but nothing was thrown`);
}

function hasCode<Code extends OrchardError['code']>(thrown: unknown, code: Code): thrown is ErrorOf<Code> {
  return isOrchardError(thrown) && thrown.code === code;
}
