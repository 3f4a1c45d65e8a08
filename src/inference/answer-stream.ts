import { setTimeout as pause } from 'node:timers/promises';
import { err, fromThrowable, type Result, type ResultAsync } from 'neverthrow';
import { type InferenceResponse, type OrchardError, toOrchardError } from '../contract/index.js';
import type { JudgedResult } from '../families/index.js';
import { inFlightOf, onAbort, type StreamOptions } from './calls.js';

/** The queries of a stream: an array, a generator, lines of a file … */
export type Queries = Iterable<string> | AsyncIterable<string>;

/** Whether the value is a source of queries; a single text is not. */
export function isQueries(given: unknown): given is Queries {
  return typeof given === 'object' && given !== null && (Symbol.asyncIterator in given || Symbol.iterator in given);
}

/** The answer to one query of a stream, or why there is none. */
export type StreamedAnswer = Result<InferenceResponse<JudgedResult>, OrchardError>;

/** Longest pause before a retry on an overloaded service. */
const MAX_PAUSE_MS = 1000;
/** Failures of a single query; after any other failure, the next query would fail too. */
const OF_ONE_QUERY: readonly OrchardError['code'][] = ['validation', 'deadline', 'internal'];

/**
 * Answers queries in their order and reads ahead only as far as `inFlight` allows, so that queries are read no faster than
 * answers. A query that fails gives an error in its place; a failure that affects all queries ends the stream.
 * @param ask called again while the service is overloaded.
 */
export async function* answerStream(
  queries: Queries,
  ask: (query: string) => ResultAsync<InferenceResponse<JudgedResult>, OrchardError>,
  options: StreamOptions,
): AsyncGenerator<StreamedAnswer, void, undefined> {
  const inFlight = fromThrowable(inFlightOf, (thrown) => toOrchardError(thrown, 'asking a stream of queries'))(options);
  if (inFlight.isErr()) return yield err(inFlight.error);
  const { signal } = options;
  const answers = readAhead(queries, (query) => withRetry(() => ask(query), signal), inFlight.value);
  for await (const answer of answers) {
    yield answer;
    if (answer.isErr() && !OF_ONE_QUERY.includes(answer.error.code)) return;
  }
}

async function* readAhead(
  queries: Queries,
  ask: (query: string) => Promise<StreamedAnswer>,
  inFlight: number,
): AsyncGenerator<StreamedAnswer, void, undefined> {
  const answers: Promise<StreamedAnswer>[] = [];
  const source = Symbol.asyncIterator in queries ? queries[Symbol.asyncIterator]() : queries[Symbol.iterator]();
  let isRead = false;
  let reading: Promise<void> | undefined;
  const read = async () => {
    const next = await source.next();
    reading = undefined;
    if (next.done) isRead = true;
    else answers.push(ask(next.value));
  };
  try {
    for (;;) {
      while (!isRead && answers.length < inFlight) {
        reading ??= read();
        // A slow source must not delay an answer that is ready.
        const [first] = answers;
        const isAnswered = first?.then(() => true);
        if (await Promise.race([reading.then(() => false), ...(isAnswered ? [isAnswered] : [])])) break;
      }
      const next = answers.shift();
      if (next === undefined) return;
      yield await next;
    }
  } finally {
    if (!isRead) await source.return?.();
  }
}

async function withRetry(
  ask: () => ResultAsync<InferenceResponse<JudgedResult>, OrchardError>,
  signal: AbortSignal | undefined,
): Promise<StreamedAnswer> {
  for (;;) {
    const answer = await ask();
    if (answer.isOk() || answer.error.code !== 'overloaded') return answer;
    const ms = Math.min(MAX_PAUSE_MS, answer.error.waitingMs / 2);
    await pauseUnlessAborted(ms, signal);
  }
}

/** An abort ends the pause; the retry then fails with it. */
async function pauseUnlessAborted(ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return pause(ms);
  if (signal.aborted) return;
  const awake = new AbortController();
  const forget = onAbort(signal, () => awake.abort());
  await pause(ms, undefined, { signal: awake.signal }).catch(() => undefined);
  forget();
}
