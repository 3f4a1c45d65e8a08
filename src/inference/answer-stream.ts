import { setTimeout as pause } from 'node:timers/promises';
import { err, fromThrowable, type Result, type ResultAsync } from 'neverthrow';
import {
  DatasetError,
  type InferenceResponse,
  isOrchardError,
  OF_ONE_TEXT,
  type OrchardError,
  toOrchardError,
} from '../contract/index.js';
import type { JudgedResult, ModelResult } from '../families/index.js';
import { onAbort, SourceReader } from '../system/index.js';
import { type CallOptions, callSchema, requestOptions, type StreamOptions, streamOptions, toResult } from './calls.js';
import type { ModelHandle } from './shared-models.js';

/** The queries of a stream: an array, a generator, lines of a file … */
export type Queries = Iterable<string> | AsyncIterable<string>;

/** Whether the value is a source of queries; a single text is not. */
export function isQueries<Query = string>(given: unknown): given is Iterable<Query> | AsyncIterable<Query> {
  return typeof given === 'object' && given !== null && (Symbol.asyncIterator in given || Symbol.iterator in given);
}

/**
 * The lines of a text that arrives in chunks, such as `createReadStream(path)`. A line ends at a line feed, with or
 * without a carriage return before it, and nowhere else: node:readline also ends lines at U+2028 from Node.js 24 on.
 * What follows the last line feed is a line if it isn't empty.
 * @throws DatasetError for a line that isn't UTF-8, or is longer than 16 MiB; what the source throws
 */
export async function* lines(source: AsyncIterable<Uint8Array | string>): AsyncGenerator<string, void, undefined> {
  const { linesOf } = await import('../datasets/index.js');
  async function* bytes() {
    for await (const piece of source) yield typeof piece === 'string' ? Buffer.from(piece) : piece;
  }
  for await (const some of linesOf(bytes())) {
    for (const line of some) {
      if ('problem' in line) throw new DatasetError([{ file: 'the text', line: line.number, ...line.problem }]);
      yield line.text;
    }
  }
}

/** The answer to one query of a stream, or its error. */
export type StreamedAnswer = Result<InferenceResponse<JudgedResult>, OrchardError>;

/** Longest pause before a retry on an overloaded service. */
const MAX_PAUSE_MS = 1000;
type Source<Query> = Iterable<Query> | AsyncIterable<Query>;

/**
 * Answers queries in their order and reads ahead only as far as `inFlight` allows, so that queries are read no faster than
 * answers. A query that fails gives an error in its place; a failure that affects all queries ends the stream, and so does
 * an abort, also while the source waits for its next query.
 * @param ask called with the options of one call; again while the service is overloaded.
 */
export async function* answerStream<Query, Answer>(
  queries: Source<Query>,
  ask: (query: Query, call: CallOptions) => ResultAsync<Answer, OrchardError>,
  options: StreamOptions,
): AsyncGenerator<Result<Answer, OrchardError>, void, undefined> {
  const doing = 'asking a stream of queries';
  const checked = fromThrowable(streamOptions, (thrown) => toOrchardError(thrown, doing))(options);
  if (checked.isErr()) return yield err(checked.error);
  const { inFlight, each } = checked.value;
  const { signal } = each;
  const source = new SourceReader(queries, { doing, signal });
  try {
    for await (const answer of readAhead(source, (query) => withRetry(() => ask(query, each), signal), inFlight)) {
      yield answer;
      if (answer.isErr() && !OF_ONE_TEXT.includes(answer.error.code)) return;
    }
  } catch (thrown) {
    if (!signal?.aborted || !isOrchardError(thrown)) throw thrown;
    yield err(thrown);
  }
}

interface AskedTexts {
  readonly results: readonly ModelResult[];
  /** Positions of the texts of which only the beginning was read. */
  readonly truncated: ReadonlySet<number>;
}

/**
 * A model's results for any number of texts, in their order: two requests at a time have half of the texts in flight each.
 * @param account takes turns with others. @throws the first failure
 */
export async function askAll(
  model: Pick<ModelHandle, 'predict'>,
  name: string,
  texts: Iterable<string>,
  options: StreamOptions,
  account?: string,
): Promise<AskedTexts> {
  const { inFlight, each } = streamOptions(options);
  const request = requestOptions(each, account);
  const parts = partsOf(texts, Math.ceil(inFlight / 2));
  const ask = (part: readonly string[], call: CallOptions) =>
    toResult(`asking model ${name}`, callSchema, call, () => model.predict(part, request));
  const results: ModelResult[] = [];
  const truncated = new Set<number>();
  for await (const answer of answerStream(parts, ask, { ...each, inFlight: Math.min(2, inFlight) })) {
    if (answer.isErr()) throw answer.error;
    for (const at of answer.value.truncated) truncated.add(results.length + at);
    for (const result of answer.value.results) results.push(result);
  }
  return { results, truncated };
}

function* partsOf(texts: Iterable<string>, size: number): Generator<string[]> {
  let part: string[] = [];
  for (const text of texts) {
    if (part.push(text) < size) continue;
    yield part;
    part = [];
  }
  if (part.length > 0) yield part;
}

async function* readAhead<Query, Answer>(
  source: SourceReader<Query>,
  ask: (query: Query) => Promise<Answer>,
  inFlight: number,
): AsyncGenerator<Answer, void, undefined> {
  const answers: Promise<Answer>[] = [];
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
    await source.return();
  }
}

async function withRetry<Answer>(
  ask: () => ResultAsync<Answer, OrchardError>,
  signal: AbortSignal | undefined,
): Promise<Result<Answer, OrchardError>> {
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
