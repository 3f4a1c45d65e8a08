import { ResultAsync } from 'neverthrow';
import { type OrchardError, toOrchardError } from './errors.js';

/**
 * The result of a public function or method; an exception becomes its error. `for await` over it fails, rather than running
 * no step: neverthrow makes a ResultAsync iterable for `yield*` in `safeTry`, which passes an argument to `next`; `for await`
 * passes none.
 * @param doing what failed, for the message.
 */
export function callResult<Value>(work: Promise<Value>, doing: string): ResultAsync<Value, OrchardError> {
  const result = ResultAsync.fromPromise(work, (thrown) => toOrchardError(thrown, doing));
  const iterate = result[Symbol.asyncIterator].bind(result);
  return Object.assign(result, {
    [Symbol.asyncIterator]: () => {
      const steps = iterate();
      const next = steps.next.bind(steps);
      steps.next = async (...given) => {
        if (given.length === 0) throw new TypeError(`${doing}: ${FOR_AWAIT}`);
        return next(...given);
      };
      return steps;
    },
  });
}

const FOR_AWAIT =
  '"for await" can\'t iterate a ResultAsync; await it, then iterate its value. To get answers one by one, give predict a generator';
