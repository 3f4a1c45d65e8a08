/** Ends what a stranger's patterns could keep up for ever: nothing else interrupts a regular expression. */
import { type Context, createContext, Script } from 'node:vm';

/** The work took longer than it may. */
export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError';
  constructor(readonly limitMs: number) {
    super(`it took longer than ${limitMs} ms`);
  }
}

interface Caller {
  readonly script: Script;
  readonly context: Context;
}

/** Made on first use: most models have no need of it. */
let caller: Caller | undefined;

/**
 * Calls a synchronous function, and stops it where it takes too long. A call costs some 60 µs.
 * @throws TimeLimitError, and what the function throws.
 */
export function withTimeLimit<T>(limitMs: number, work: () => T): T {
  caller ??= { script: new Script('work()'), context: createContext(Object.create(null)) };
  const { script, context } = caller;
  const results: T[] = [];
  context.work = () => {
    results.push(work());
  };
  try {
    script.runInContext(context, { timeout: limitMs });
  } catch (thrown) {
    if (isTimeout(thrown)) throw new TimeLimitError(limitMs);
    throw thrown;
  } finally {
    context.work = undefined;
  }
  for (const result of results) return result;
  throw new TimeLimitError(limitMs);
}

function isTimeout(thrown: unknown): boolean {
  // The error may be of another realm, whose Error is another class.
  const isCoded = typeof thrown === 'object' && thrown !== null && 'code' in thrown;
  return isCoded && thrown.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}
