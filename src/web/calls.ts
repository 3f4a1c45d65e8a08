import { AbortedError, DeadlineError, MAX_QUERY_CHARACTERS, ValidationError } from '../contract/index.js';
import type { Steps } from '../system/index.js';

/** Options of one call of a `WebModel`. */
export interface WebCallOptions {
  /** Aborts the call. The computation stops between two runs of the encoder, which take some milliseconds each. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Milliseconds that the call may wait and run; in a stream, for each text. After that, it fails with a DeadlineError.
   * Default: no limit.
   */
  readonly deadlineMs?: number | undefined;
}

/** The longest time that timers take: 24 days. */
const MAX_DEADLINE_MS = 2 ** 31 - 1;

/** When a call has to end. */
export class CallEnd {
  readonly #doing: string;
  readonly #signal: AbortSignal | undefined;
  readonly #deadlineMs: number;
  readonly #until: number;

  /** @throws ValidationError */
  constructor(doing: string, { signal, deadlineMs = Number.POSITIVE_INFINITY }: WebCallOptions) {
    if (deadlineMs !== Number.POSITIVE_INFINITY) requireWithin('deadlineMs', deadlineMs, 1, MAX_DEADLINE_MS);
    this.#doing = doing;
    this.#signal = signal;
    this.#deadlineMs = deadlineMs;
    this.#until = performance.now() + deadlineMs;
  }

  /** @throws AbortedError, DeadlineError */
  check(): void {
    if (this.#signal?.aborted) throw this.#aborted();
    if (performance.now() >= this.#until) throw new DeadlineError(this.#deadlineMs);
  }

  /** Waits for work, but no longer than the call may take. @throws AbortedError, DeadlineError, and what the work throws */
  async waitFor<Value>(work: Promise<Value>): Promise<Value> {
    const late =
      this.#deadlineMs === Number.POSITIVE_INFINITY ? undefined : AbortSignal.timeout(Math.ceil(this.#deadlineMs));
    const done = new AbortController();
    const ended = new Promise<never>((_, reject) => {
      const { signal } = done;
      this.#signal?.addEventListener('abort', () => reject(this.#aborted()), { signal });
      late?.addEventListener('abort', () => reject(new DeadlineError(this.#deadlineMs)), { signal });
    });
    try {
      return await Promise.race([work, ended]);
    } finally {
      done.abort();
    }
  }

  #aborted(): AbortedError {
    return new AbortedError(this.#doing, { cause: this.#signal?.reason });
  }

  /** Takes all steps; other tasks of the thread get their turn. @throws AbortedError, DeadlineError */
  async inSlices<Value>(steps: Steps<Value>): Promise<Value> {
    let since = performance.now();
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
      if (performance.now() - since < SLICE_MS) continue;
      await nextTask();
      this.check();
      since = performance.now();
    }
  }
}

/** How long other tasks of the thread wait. */
export const SLICE_MS = 10;

/** What only some places have; taken here, so that timers which a test replaces later don't stop a call. */
const { setImmediate: soon }: { readonly setImmediate?: (task: () => void) => void } = globalThis;

/** Other tasks of the thread run first. Unlike a timer, a message is not delayed by 4 ms; for the first one, Node loads its streams. */
export function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    if (soon !== undefined) return soon(resolve);
    const { port1, port2 } = new MessageChannel();
    const heard = () => {
      port1.close();
      resolve();
    };
    port1.addEventListener('message', heard, { once: true });
    port1.start();
    port2.postMessage(undefined);
  });
}

/** @throws ValidationError for an option that no such call has: it would be ignored without a word */
export function checked<Options extends object>(options: Options, known: readonly (keyof Options & string)[]): Options {
  if (typeof options !== 'object' || options === null || 'aborted' in options)
    throw refusal([], 'give the options as an object, such as { signal }');
  for (const name of Object.keys(options)) {
    const isKnown = known.some((each) => each === name);
    if (!isKnown)
      throw refusal([name], `unknown option; the options are ${known.map((each) => `\`${each}\``).join(', ')}`);
  }
  return options;
}

/** @throws ValidationError */
export function requireFlag(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'boolean') throw refusal([name], 'give true or false');
}

/** @throws ValidationError */
export function requireWithin(name: string, value: unknown, least: number, most: number, isWhole = false): void {
  const isNumber = isWhole ? Number.isInteger(value) : typeof value === 'number';
  if (isNumber && Number(value) >= least && Number(value) <= most) return;
  const noun = isWhole ? 'a whole number' : 'a number';
  throw refusal([name], `give ${noun} from ${least} to ${most}`);
}

/** @throws ValidationError */
export function requireQuery(text: unknown, loc: readonly (string | number)[]): string {
  if (typeof text !== 'string') throw refusal(loc, 'give a text');
  if (text.length <= MAX_QUERY_CHARACTERS) return text;
  const most = MAX_QUERY_CHARACTERS.toLocaleString('en-US');
  throw refusal(loc, `at most ${most} UTF-16 code units; ask about parts of the text instead`);
}

/** No model can say anything about a blank text. @throws ValidationError */
export function requireText(text: unknown, loc: readonly (string | number)[]): string {
  const query = requireQuery(text, loc);
  if (query.trim() === '') throw refusal(loc, 'the text is blank; leave it out');
  return query;
}

export function refusal(loc: readonly (string | number)[], msg: string): ValidationError {
  return new ValidationError([{ loc, msg, type: 'invalid' }]);
}
