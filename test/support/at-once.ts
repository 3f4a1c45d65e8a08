import { runToEnd, type Steps } from '../../src/system/pauses.js';

/** The same computation, without places where it can be interrupted. */
export function atOnce<Args extends readonly unknown[], Result>(
  computation: (...args: Args) => Steps<Result>,
): (...args: Args) => Result {
  return (...args) => runToEnd(computation(...args));
}

/** A computation in one step. */
export function inOneStep<Args extends readonly unknown[], Result>(
  compute: (...args: Args) => Result,
): (...args: Args) => Steps<Result> {
  return function* (...args) {
    yield;
    return compute(...args);
  };
}
