import { errAsync, okAsync, ResultAsync } from 'neverthrow';
import { describe, expect, it, vi } from 'vitest';
import {
  AbortedError,
  DeadlineError,
  InternalError,
  NotFoundError,
  type OrchardError,
  OverloadedError,
  ValidationError,
} from '../../src/contract/errors.js';
import type { InferenceResponse, InferenceResult } from '../../src/contract/index.js';
import { askAll } from '../../src/inference/answer-stream.js';
import { answerStream, lines, type Queries, type StreamOptions } from '../../src/inference/index.js';
import { Dispatcher } from '../../src/inference/service.js';
import { FakeWorker } from './fake-worker.js';

type Ask = (query: string) => ResultAsync<InferenceResponse<InferenceResult>, OrchardError>;

const answerTo = (query: string): InferenceResponse<InferenceResult> => ({
  data: { labels: [query], scores: [1] },
  metadata: { model_inference_time_ms: 1 },
});
const echo: Ask = (query) => okAsync(answerTo(query));

/** Answers after some milliseconds, later queries often sooner. */
const slowly: Ask = (query) =>
  ResultAsync.fromSafePromise(
    new Promise((resolve) => setTimeout(() => resolve(answerTo(query)), (Number(query) * 7) % 5)),
  );

function* numbers(count: number, taken: string[] = []): Generator<string> {
  for (let at = 0; at < count; at += 1) {
    taken.push(String(at));
    yield String(at);
  }
}

async function* silentAfter(query: string): AsyncGenerator<string> {
  yield query;
  await new Promise(() => {});
}

async function collected(queries: Queries, ask: Ask, options: StreamOptions = {}): Promise<string[]> {
  const answers: string[] = [];
  for await (const answer of answerStream(queries, ask, options)) {
    answers.push(answer.isOk() ? (answer.value.data.labels[0] ?? '') : answer.error.code);
  }
  return answers;
}

describe('a stream of queries', () => {
  it('is answered in its order, whichever answer is there first', async () => {
    expect(await collected(numbers(50), slowly, { inFlight: 7 })).toEqual([...numbers(50)]);
    expect(await collected([], echo)).toEqual([]);
  });

  it('is read no further than its answers are, apart from those in flight', async () => {
    const taken: string[] = [];
    const answers = answerStream(numbers(1000, taken), echo, { inFlight: 10 });
    for (let read = 1; read <= 30; read += 1) {
      await answers.next();
      expect(taken.length).toBeLessThanOrEqual(read + 10);
    }
    await answers.return(undefined);
    expect(taken.length).toBeLessThanOrEqual(40);
  });

  it('keeps as many queries in flight as it may', async () => {
    let inFlight = 0;
    let most = 0;
    const counted: Ask = (query) => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      return slowly(query).andTee(() => {
        inFlight -= 1;
      });
    };
    await collected(numbers(100), counted, { inFlight: 8 });
    expect(most).toBe(8);
  });

  it('answers what came before a query that is long in coming', async () => {
    async function* source() {
      yield 'first';
      await new Promise((resolve) => setTimeout(resolve, 10_000));
      yield 'second';
    }
    const answers = answerStream(source(), echo, {});
    expect((await answers.next()).value?.isOk()).toBe(true);
  });

  it.each([new InternalError('odd'), new DeadlineError(5), new ValidationError([])])(
    'goes on after a query that fails by itself: $code',
    async (failure) => {
      const ask: Ask = (query) => (query === '1' ? errAsync(failure) : echo(query));
      expect(await collected(numbers(3), ask)).toEqual(['0', failure.code, '2']);
    },
  );

  it('goes on after a query that misses its deadline, or that is not valid', async () => {
    const fails: Ask = (query) =>
      errAsync(
        query === '1' ? new DeadlineError(5) : new ValidationError([{ loc: [], msg: 'too long', type: 'too_big' }]),
      );
    const ask: Ask = (query) => (query === '1' || query === '2' ? fails(query) : echo(query));
    expect(await collected(numbers(4), ask)).toEqual(['0', 'deadline', 'validation', '3']);
  });

  it('ends with a failure that all queries share, and asks its source for no more', async () => {
    const taken: string[] = [];
    const ask: Ask = () => errAsync(new NotFoundError('model', 'm'));
    expect(await collected(numbers(1000, taken), ask, { inFlight: 4 })).toEqual(['not_found']);
    expect(taken.length).toBeLessThanOrEqual(5);
  });

  it('waits where the service is overloaded', async () => {
    let refused = 3;
    const ask: Ask = (query) => {
      refused -= 1;
      return refused >= 0 ? errAsync(new OverloadedError(10, 2)) : echo(query);
    };
    expect(await collected(numbers(4), ask)).toEqual(['0', '1', '2', '3']);
  });

  it('ends with an AbortedError when it is aborted while it waits', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const ask: Ask = () => errAsync(signal.aborted ? new AbortedError('asking') : new OverloadedError(10, 60_000));
    setTimeout(() => controller.abort(), 5);
    expect(await collected(numbers(3), ask, { signal })).toEqual(['aborted']);
  });

  it('ends with an AbortedError when it is aborted while its source waits', async () => {
    const stop = new AbortController();
    const answers = answerStream(silentAfter('first'), echo, { signal: stop.signal });
    expect((await answers.next()).value?.isOk()).toBe(true);
    const next = answers.next();
    stop.abort();
    expect((await next).value?._unsafeUnwrapErr()).toMatchObject({
      code: 'aborted',
      message: 'asking a stream of queries was aborted',
    });
    expect(await answers.next()).toMatchObject({ done: true });
  });

  it('ends at once while its source waits: by its reader, or by a failure that all queries share', async () => {
    const left = answerStream(silentAfter('first'), echo, {});
    await left.next();
    expect(await left.return(undefined)).toMatchObject({ done: true });
    const ask: Ask = () => errAsync(new NotFoundError('model', 'm'));
    expect(await collected(silentAfter('first'), ask)).toEqual(['not_found']);
  });

  it('throws what its source throws', async () => {
    function* source() {
      yield 'a';
      throw new RangeError('no more lines');
    }
    await expect(collected(source(), echo)).rejects.toThrow('no more lines');
  });

  it('has a ValidationError for an option that is none', async () => {
    expect(await collected(numbers(3), echo, { inFlight: 0 })).toEqual(['validation']);
  });
});

describe('any number of texts', () => {
  it('are asked in requests of half of those in flight, two at a time', async () => {
    const dispatcher = new Dispatcher([new FakeWorker()], { maxWaiting: 1000 });
    let inFlight = 0;
    let most = 0;
    const predict = dispatcher.predict.bind(dispatcher);
    const asked = vi.spyOn(dispatcher, 'predict').mockImplementation(async (...request) => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      try {
        return await predict(...request);
      } finally {
        inFlight -= 1;
      }
    });
    const asking: Parameters<typeof askAll>[0] = {
      predict: (part, options) => dispatcher.predict('/m', part, options),
    };
    const long = 'x'.repeat(101);
    const texts = [...numbers(12), long, ...numbers(9), long];
    const { results, truncated } = await askAll(asking, 'numbers', texts, { inFlight: 9 });
    expect(results.flatMap(({ labels }) => labels)).toEqual(texts);
    expect([...truncated]).toEqual([12, 22]);
    expect(asked.mock.calls.map(([, part]) => part.length)).toEqual([5, 5, 5, 5, 3]);
    expect(most).toBe(2);
    await dispatcher.close();
  });
});

describe('lines', () => {
  const linesOf = async (...pieces: (string | Uint8Array)[]) => {
    async function* source() {
      yield* pieces;
    }
    const found: string[] = [];
    for await (const line of lines(source())) found.push(line);
    return found;
  };

  it('end at line feeds only, in texts and in bytes, however they are cut', async () => {
    const texts = ['good day\u2028still\rgood', '', 'bäd day'];
    const whole = Buffer.from('good day\u2028still\rgood\r\n\nbäd day');
    expect(await linesOf(whole.toString())).toEqual(texts);
    expect(await linesOf(...Array.from(whole, (byte) => Uint8Array.of(byte)))).toEqual(texts);
  });

  it('refuse what is not UTF-8', async () => {
    await expect(linesOf(Buffer.from('a\nb\xff', 'latin1'))).rejects.toThrow(/the text line 2, column 2: .*UTF-8/);
  });
});
