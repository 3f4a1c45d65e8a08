import { err, ok, Result, ResultAsync, safeTry } from 'neverthrow';
import { describe, expect, it } from 'vitest';

/** The package has neverthrow in its own files; an application's copy is another one. */
const { loadModel } = await import(new URL('../../dist/index.js', import.meta.url).href);

const refused = (): ResultAsync<unknown, { code: string }> => loadModel('');

describe("a result of the package, with an application's own neverthrow", () => {
  it('is combined with others', async () => {
    const combined = await ResultAsync.combine([refused(), ResultAsync.fromSafePromise(Promise.resolve(1))]);
    expect(combined._unsafeUnwrapErr().code).toBe('validation');
    expect(Result.combine([await refused()])._unsafeUnwrapErr().code).toBe('validation');
  });

  it('is chained', async () => {
    const chained = ResultAsync.fromSafePromise(Promise.resolve(1)).andThen(refused).orElse(refused);
    expect((await chained)._unsafeUnwrapErr().code).toBe('validation');
    expect((await refused().orElse(() => err('mine')))._unsafeUnwrapErr()).toBe('mine');
  });

  it('ends a safeTry', async () => {
    const tried = await safeTry(async function* () {
      return ok([yield* refused(), yield* await refused()]);
    });
    expect(tried._unsafeUnwrapErr().code).toBe('validation');
  });
});
