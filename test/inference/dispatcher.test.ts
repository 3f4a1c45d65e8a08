import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { ModelFolderError } from '../../src/contract/index.js';
import { Dispatcher, type DispatcherOptions } from '../../src/inference/service.js';
import { fakeTimers } from '../support/fake-timers.js';
import { failureOf } from '../support/outcomes.js';
import { FakeWorker, settled } from './fake-worker.js';

const MODEL = '/models/a';
const OTHER = '/models/b';

function aDispatcher({
  workers = 1,
  patient = false,
  maxWaiting = 1000,
  ...options
}: Partial<DispatcherOptions> & { workers?: number; patient?: boolean } = {}) {
  const made = Array.from({ length: workers }, () => new FakeWorker(patient));
  const [first = new FakeWorker()] = made;
  return { dispatcher: new Dispatcher(made, { maxWaiting, ...options }), workers: made, worker: first };
}

const texts = (count: number, prefix = 't') => Array.from({ length: count }, (_, at) => `${prefix}${at}`);

describe('requests of many callers', () => {
  it('are each answered with the results of their own texts, in their order', async () => {
    const request = fc.record({
      model: fc.constantFrom(MODEL, OTHER, '/models/c'),
      texts: fc.array(fc.string({ maxLength: 300 }), { maxLength: 40 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(request, { maxLength: 20 }), fc.integer({ min: 1, max: 3 }), async (all, workers) => {
        const { dispatcher } = aDispatcher({ workers });
        const answers = await Promise.all(all.map(({ model, texts }) => dispatcher.predict(model, texts)));
        for (const [at, { results, truncated }] of answers.entries()) {
          const asked = all[at]?.texts ?? [];
          expect(results.map(({ labels }) => labels[0])).toEqual(asked);
          expect(truncated).toEqual(asked.flatMap((text, index) => (text.length > 100 ? [index] : [])));
        }
        await dispatcher.close();
      }),
      { numRuns: 50 },
    );
  });

  it('go together if they come in one turn, or while the thread is busy', async () => {
    const { dispatcher, worker } = aDispatcher({ patient: true });
    const early = [dispatcher.predict(MODEL, ['a']), dispatcher.predict(MODEL, ['b'])];
    await settled();
    const late = [dispatcher.predict(MODEL, ['c']), dispatcher.predict(MODEL, ['d', 'e'])];
    await worker.goOn();
    await worker.goOn();
    await Promise.all([...early, ...late]);
    expect(worker.batches.map((batch) => batch.texts)).toEqual([
      ['a', 'b'],
      ['c', 'd', 'e'],
    ]);
  });

  it('of one who asks again as soon as he is answered go together with the others’', async () => {
    const { dispatcher, worker } = aDispatcher();
    const caller = async () => {
      for (let round = 0; round < 3; round += 1) await dispatcher.predict(MODEL, ['x']);
    };
    await Promise.all(Array.from({ length: 8 }, caller));
    expect(worker.batches.map((batch) => batch.texts.length)).toEqual([8, 8, 8]);
  });

  it('for one model do not hold up those for another', async () => {
    const { dispatcher, worker } = aDispatcher({ patient: true });
    const many = dispatcher.predict(MODEL, texts(500));
    await settled();
    const one = dispatcher.predict(OTHER, ['b']);
    for (let batch = 0; batch < 3; batch += 1) await worker.goOn();
    expect((await one).results).toHaveLength(1);
    expect(worker.batches.slice(0, 3).map(({ directory }) => directory)).toEqual([MODEL, OTHER, MODEL]);
    while (dispatcher.stats().runningTexts > 0) await worker.goOn();
    expect((await many).results).toHaveLength(500);
  });

  it.each([new Error('poison'), new ModelFolderError(MODEL, 'poison')])(
    'fail alone where they fail, with whatever a loaded model throws: $name',
    async (error) => {
      const { dispatcher, worker } = aDispatcher();
      await dispatcher.predict(MODEL, ['before']);
      Object.assign(worker, { poison: 'bad', poisonError: error });
      const requests = [['a'], ['bad'], ['b', 'c']].map((each) => dispatcher.predict(MODEL, each));
      const labels = requests.map(async (request) => (await request).results.flatMap((result) => result.labels));
      expect(await Promise.allSettled(labels)).toMatchObject([
        { value: ['a'] },
        { reason: error },
        { value: ['b', 'c'] },
      ]);
      expect(dispatcher.stats().requests).toEqual({ answered: 3, refused: 0, cancelled: 0, failed: 1 });
    },
  );
});

describe('a long text', () => {
  const long = 'x'.repeat(50_000);

  it('goes by itself, in slices that the texts of others go between', async () => {
    const { dispatcher, worker } = aDispatcher({ patient: true });
    worker.sliceCharacters = 10_000;
    const asked = dispatcher.predict(MODEL, [long], { account: 'long' });
    await settled();
    const others = ['a', 'b', 'c'].map((account) => dispatcher.predict(MODEL, [account], { account }));
    const answered: string[] = [];
    for (const other of others) void other.then(({ results }) => answered.push(...results.flatMap((r) => r.labels)));
    await worker.goOn();
    await worker.goOn();
    expect(answered).toEqual(['a', 'b', 'c']);
    expect(dispatcher.stats()).toMatchObject({ runningTexts: 1, waitingTexts: 0 });
    for (let slice = 0; slice < 5; slice += 1) await worker.goOn();
    expect((await asked).results[0]?.labels).toEqual([long]);
    expect(worker.slices.map((slice) => slice.length)).toEqual([1, 3, 1, 1, 1, 1]);
    await dispatcher.close();
  });

  it('of the same account does not hold up its short ones either, nor do they hold up it', async () => {
    const { dispatcher, worker } = aDispatcher({ patient: true });
    worker.sliceCharacters = 10_000;
    const asked = dispatcher.predict(MODEL, [long]);
    await settled();
    const short = Array.from({ length: 4 }, (_, at) => dispatcher.predict(OTHER, [`${at}`]));
    const second = dispatcher.predict(MODEL, [long]);
    const own = dispatcher.predict(MODEL, ['own']);
    for (let slice = 0; slice < 5; slice += 1) await worker.goOn();
    await Promise.all([...short, own]);
    for (let slice = 0; slice < 12; slice += 1) await worker.goOn();
    await Promise.all([asked, second]);
    // The second is begun once the first is done.
    const texts = worker.slices.map(([text = '']) => text.length);
    expect(texts.filter((length) => length === long.length)).toHaveLength(10);
    expect(worker.batches.filter(({ texts: [text = ''] }) => text === long)).toHaveLength(2);
  });

  it('leaves at once when it is given up between two slices', async () => {
    const { dispatcher, worker } = aDispatcher({ patient: true });
    worker.sliceCharacters = 10_000;
    const { signal, abort } = aborter();
    const given = dispatcher.predict(MODEL, [long], { signal, account: 'gone' });
    await settled();
    const other = dispatcher.predict(MODEL, ['a'], { account: 'other' });
    await worker.goOn();
    abort();
    await failureOf('aborted', () => given);
    expect([...worker.cancelled.values()]).toEqual([[0]]);
    await worker.goOn();
    await other;
    expect(dispatcher.stats()).toMatchObject({ runningTexts: 0, waitingTexts: 0 });
    expect(worker.slices).toHaveLength(2);
    await dispatcher.close();
  });
});

describe('accounts', () => {
  it('take turns by the work done for them, however much one asks, of however many models', async () => {
    const { dispatcher, worker } = aDispatcher({ patient: true });
    const [evil, good] = [{ account: 'evil' }, { account: 'good' }];
    const flood = texts(20, '/models/').flatMap((model) =>
      texts(20).map((text) => dispatcher.predict(model, [text.repeat(200)], evil)),
    );
    await settled();
    for (let round = 0; round < 5; round += 1) {
      const before = worker.batches.length;
      const asked = dispatcher.predict(MODEL, ['a'], good);
      await worker.goOn();
      await worker.goOn();
      await asked;
      // What ran when it came, then its own, then the next of the flood.
      expect(worker.batches.length - before).toBeLessThanOrEqual(2);
    }
    while (dispatcher.stats().runningTexts > 0) await worker.goOn();
    expect(await Promise.all(flood)).toHaveLength(400);
  });

  it('have short batches while several of them ask, so that none waits long for another', async () => {
    const { dispatcher, worker } = aDispatcher({ patient: true });
    const all = dispatcher.predict(MODEL, texts(200), { account: 'busy' });
    for (let batch = 0; batch < 3; batch += 1) await worker.goOn();
    const alone = worker.batches.at(-1)?.texts.length ?? 0;
    const one = dispatcher.predict(OTHER, ['a'], { account: 'other' });
    while (worker.batches.at(-1)?.directory !== OTHER) await worker.goOn();
    await worker.goOn();
    const shared = worker.batches.at(-1)?.texts.length ?? 0;
    // Texts of about one millisecond each.
    expect(alone).toBeGreaterThan(20);
    expect(shared).toBeGreaterThan(4);
    expect(shared).toBeLessThanOrEqual(8);
    while (dispatcher.stats().runningTexts > 0) await worker.goOn();
    await Promise.all([all, one]);
  });

  it('share batches of the same model', async () => {
    const { dispatcher, worker } = aDispatcher({ patient: true });
    const first = dispatcher.predict(MODEL, ['a'], { account: 'a' });
    await settled();
    const more = ['b', 'c', 'd'].map((account) => dispatcher.predict(MODEL, [account], { account }));
    await worker.goOn();
    await worker.goOn();
    await Promise.all([first, ...more]);
    expect(worker.batches.map((batch) => batch.texts)).toEqual([['a'], ['b', 'c', 'd']]);
  });
});

describe('the memory limit', () => {
  const MB = 2 ** 20;

  it('has the least recently used model leave first', async () => {
    const { dispatcher, worker } = aDispatcher({ memoryLimit: 25 * MB, sizeOf: () => 10 * MB });
    for (const model of ['/a', '/b', '/a', '/c']) await dispatcher.predict(model, ['x']);
    expect(worker.forgotten).toEqual(['/b']);
    expect(dispatcher.stats().memory).toEqual({ limit: 25 * MB, models: 20 * MB, texts: 0 });
    expect(dispatcher.stats().workers).toEqual([{ busy: false, models: 2 }]);
  });

  it('refuses a model that does not fit by itself, and names both figures', async () => {
    const sizeOf = async (directory: string) => (directory === '/large' ? 30 * MB : MB);
    const { dispatcher, worker } = aDispatcher({ memoryLimit: 25 * MB, sizeOf });
    const large = () => dispatcher.predict('/large', ['x']);
    const error = await failureOf('memory_limit', large);
    expect(error).toMatchObject({ bytes: 30 * MB, limit: 25 * MB });
    expect(error.message).toMatch(/30 MiB.*25 MiB/);
    await failureOf('memory_limit', () => dispatcher.warm('/large'));
    expect((await dispatcher.predict('/small', ['x'])).results).toHaveLength(1);
    expect(worker.batches.map(({ directory }) => directory)).toEqual(['/small']);
    expect(dispatcher.stats()).toMatchObject({
      requests: { failed: 1 },
      waitingTexts: 0,
      waitingRequests: 0,
    });
  });

  it('takes a model that fits exactly', async () => {
    const { dispatcher } = aDispatcher({ memoryLimit: 10 * MB, sizeOf: () => 10 * MB });
    expect((await dispatcher.predict(MODEL, ['x'])).results).toHaveLength(1);
  });

  it('keeps a model that is in use, and has the next one wait for its place', async () => {
    const sizeOf = () => 10 * MB;
    const { dispatcher, workers } = aDispatcher({ workers: 2, patient: true, memoryLimit: 15 * MB, sizeOf });
    const [first, second] = workers;
    const running = dispatcher.predict('/a', ['x']);
    await settled();
    const waiting = dispatcher.predict('/b', ['y']);
    await settled();
    expect(dispatcher.stats()).toMatchObject({ waitingTexts: 1, memory: { models: 10 * MB } });
    await first?.goOn();
    await running;
    for (const worker of workers) await worker.goOn();
    await waiting;
    expect([first?.forgotten, second?.forgotten].flat()).toEqual(['/a']);
  });

  it('is told of what texts take, and refuses those that take more', async () => {
    const { dispatcher, worker } = aDispatcher({ patient: true, memoryLimit: MB });
    const running = dispatcher.predict(MODEL, ['x'.repeat(1000)]);
    await settled();
    const waiting = dispatcher.predict(MODEL, ['y'.repeat(1000)]);
    expect(dispatcher.stats().memory.texts).toBe(1000 * 100 + 1000 * 2);
    await failureOf('overloaded', () => dispatcher.predict(MODEL, ['z'.repeat(500_000)]));
    await worker.goOn();
    await worker.goOn();
    await Promise.all([running, waiting]);
  });
});

describe('a thread that does not answer', () => {
  it('is given up after its time, and fails only what it was asked', async () => {
    const timeouts = { runMs: 10, loadMs: 10 };
    const { dispatcher, worker } = aDispatcher({ patient: true, timeouts });
    const stuck = dispatcher.predict(MODEL, ['a']);
    await expect(stuck).rejects.toThrow('did not finish loading a model within 0.01 s');
    const next = dispatcher.predict(MODEL, ['b']);
    await settled();
    await worker.goOn();
    expect((await next).results[0]?.labels).toEqual(['b']);
    await dispatcher.close();
  });

  it('leaves its models to others meanwhile', async () => {
    const { dispatcher, workers } = aDispatcher({ workers: 2, patient: true });
    await dispatcher.warm(MODEL);
    void dispatcher.predict(MODEL, ['stuck']);
    await settled();
    const next = dispatcher.predict(MODEL, ['next']);
    await expect.poll(() => workers[1]?.batches.length, { timeout: 10_000 }).toBe(1);
    await workers[1]?.goOn();
    expect((await next).results).toHaveLength(1);
    await workers[0]?.goOn();
    await dispatcher.close();
  });
});

describe('a request that is given up', () => {
  it('leaves the queue, and the others go on', async () => {
    const { dispatcher, worker } = aDispatcher({ patient: true });
    const running = dispatcher.predict(MODEL, ['a']);
    await settled();
    const { signal, abort } = aborter();
    const given = dispatcher.predict(MODEL, ['b'], { signal });
    const kept = dispatcher.predict(MODEL, ['c']);
    abort();
    await failureOf('aborted', () => given);
    await worker.goOn();
    await worker.goOn();
    await Promise.all([running, kept]);
    expect(worker.batches.map((batch) => batch.texts)).toEqual([['a'], ['c']]);
  });

  it('reaches no worker if it was given up before', async () => {
    const { dispatcher, worker } = aDispatcher();
    const cause = new Error('too late');
    const asked = failureOf('aborted', () => dispatcher.predict(MODEL, ['a'], { signal: AbortSignal.abort(cause) }));
    expect((await asked).cause).toBe(cause);
    await dispatcher.predict(MODEL, ['b']);
    expect(worker.batches.map((batch) => batch.texts)).toEqual([['b']]);
  });

  it('is cancelled in the batch under way, where others are answered all the same', async () => {
    const { dispatcher, worker } = aDispatcher({ patient: true });
    const { signal, abort } = aborter();
    const given = dispatcher.predict(MODEL, ['a', 'b'], { signal });
    const kept = dispatcher.predict(MODEL, ['c']);
    await settled();
    abort();
    await failureOf('aborted', () => given);
    expect([...worker.cancelled.values()]).toEqual([[0, 1]]);
    await worker.goOn();
    expect((await kept).results).toEqual([{ labels: ['c'], scores: [1] }]);
    expect(dispatcher.stats().requests.cancelled).toBe(1);
  });

  it('fails with a DeadlineError when its deadline passes', async () => {
    const { dispatcher, worker } = aDispatcher({ patient: true });
    const late = dispatcher.predict(MODEL, ['a'], { deadlineMs: 5 });
    expect(await failureOf('deadline', () => late)).toMatchObject({ deadlineMs: 5 });
    await worker.goOn();
    const next = dispatcher.predict(MODEL, ['b'], { deadlineMs: 60_000 });
    await settled();
    await worker.goOn();
    expect((await next).results).toHaveLength(1);
  });
});

describe('a deadline', () => {
  it('passes at its time, neither before nor after, and ends with the answer', async () => {
    fakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { dispatcher, worker } = aDispatcher({ patient: true });
    const ended: string[] = [];
    const ask = (text: string, deadlineMs: number) =>
      dispatcher.predict(MODEL, [text], { deadlineMs }).then(
        () => ended.push(`${text} answered`),
        (thrown) => ended.push(`${text} ${thrown.code} ${thrown.deadlineMs}`),
      );
    const early = ask('a', 1000);
    await vi.advanceTimersByTimeAsync(1);
    void ask('b', 1000);
    await vi.advanceTimersByTimeAsync(1);
    void worker.goOn();
    await early;
    await vi.advanceTimersByTimeAsync(998);
    expect(ended).toEqual(['a answered']);
    await vi.advanceTimersByTimeAsync(1);
    expect(ended).toEqual(['a answered', 'b deadline 1000']);
    expect(dispatcher.stats().requests).toEqual({ answered: 1, refused: 0, cancelled: 1, failed: 0 });
  });
});

describe('the turns of accounts', () => {
  /** Of requests that are left unanswered at the end. */
  const ignore = () => undefined;

  /** Whose texts the next batches have. */
  async function turns(worker: FakeWorker, count: number): Promise<string[]> {
    const from = worker.batches.length;
    for (let batch = 0; batch < count; batch += 1) await worker.goOn();
    return worker.batches.slice(from, from + count).map(({ directory }) => directory);
  }

  it('that come later take turns with those that have been served for long', async () => {
    const { dispatcher, worker } = aDispatcher({ patient: true, maxWaiting: 10_000 });
    dispatcher.predict(MODEL, texts(2000), { account: 'early' }).catch(ignore);
    await settled();
    expect(await turns(worker, 4)).toEqual([MODEL, MODEL, MODEL, MODEL]);
    dispatcher.predict(OTHER, texts(2000), { account: 'late' }).catch(ignore);
    expect(await turns(worker, 6)).toEqual([OTHER, MODEL, OTHER, MODEL, OTHER, MODEL]);
  });

  it('that ask again as soon as they are answered take no more than their turns', async () => {
    const { dispatcher, worker } = aDispatcher({ patient: true, maxWaiting: 10_000 });
    dispatcher.predict(MODEL, texts(2000), { account: 'waiting' }).catch(ignore);
    await settled();
    const size = worker.batches[0]?.texts.length ?? 0;
    const ask = async () => {
      for (;;) await dispatcher.predict(OTHER, texts(size), { account: 'hasty' });
    };
    ask().catch(ignore);
    expect(await turns(worker, 6)).toEqual([OTHER, MODEL, OTHER, MODEL, OTHER, MODEL]);
  });
});

describe('a service that is asked too much', () => {
  it('refuses what does not fit into its queue, and goes on afterwards', async () => {
    const { dispatcher, worker } = aDispatcher({ patient: true, maxWaiting: 10 });
    const running = dispatcher.predict(MODEL, ['a']);
    await settled();
    const waiting = dispatcher.predict(MODEL, texts(10));
    expect(await failureOf('overloaded', () => dispatcher.predict(MODEL, ['b']))).toMatchObject({
      waiting: 10,
    });
    await worker.goOn();
    await worker.goOn();
    await Promise.all([running, waiting]);
    const again = dispatcher.predict(MODEL, ['b']);
    await settled();
    await worker.goOn();
    await again;
    expect(dispatcher.stats().requests).toEqual({ answered: 3, refused: 1, cancelled: 0, failed: 0 });
  });

  it('lets the account with the most waiting give way, its latest requests first', async () => {
    const { dispatcher, worker } = aDispatcher({ patient: true, maxWaiting: 10 });
    const running = dispatcher.predict(MODEL, ['a']);
    await settled();
    const early = dispatcher.predict(MODEL, texts(5), { account: 'greedy' });
    const late = failureOf('overloaded', () => dispatcher.predict(MODEL, texts(5), { account: 'greedy' }));
    const other = dispatcher.predict(OTHER, ['b'], { account: 'modest' });
    expect(await late).toMatchObject({ limit: 'queue' });
    expect(dispatcher.stats()).toMatchObject({ waitingTexts: 6, waitingRequests: 2 });
    for (let batch = 0; batch < 3; batch += 1) await worker.goOn();
    await Promise.all([running, early, other]);
    expect(dispatcher.stats().requests).toEqual({ answered: 3, refused: 1, cancelled: 0, failed: 0 });
  });

  it('lets no account give way to one that would have more', async () => {
    const { dispatcher, worker } = aDispatcher({ patient: true, maxWaiting: 10 });
    const running = dispatcher.predict(MODEL, ['a']);
    await settled();
    const first = dispatcher.predict(MODEL, texts(5), { account: 'first' });
    const second = dispatcher.predict(MODEL, texts(5), { account: 'second' });
    await failureOf('overloaded', () => dispatcher.predict(MODEL, texts(5), { account: 'third' }));
    for (let batch = 0; batch < 3; batch += 1) await worker.goOn();
    await Promise.all([running, first, second]);
  });

  it('gives way by characters too, which are what fills the memory', async () => {
    const { dispatcher, worker } = aDispatcher({ patient: true });
    const running = dispatcher.predict(MODEL, ['a']);
    await settled();
    const long = 'x'.repeat(2 ** 20);
    const asked = Array.from({ length: 16 }, () =>
      dispatcher.predict(MODEL, [long], { account: 'greedy' }).then(
        () => 'answered',
        () => 'refused',
      ),
    );
    const other = dispatcher.predict(OTHER, ['b'], { account: 'modest' });
    while (dispatcher.stats().waitingTexts + dispatcher.stats().runningTexts > 0) await worker.goOn();
    await Promise.all([running, other]);
    expect(await Promise.all(asked)).toEqual([...Array(15).fill('answered'), 'refused']);
  });

  it('holds an account to its share, and says so', async () => {
    const { dispatcher, worker } = aDispatcher({ patient: true, maxWaiting: 10, maxWaitingPerAccount: 5 });
    const running = dispatcher.predict(MODEL, ['a']);
    await settled();
    const asked = dispatcher.predict(MODEL, texts(4), { account: 'greedy' });
    const refused = await failureOf('overloaded', () => dispatcher.predict(MODEL, texts(2), { account: 'greedy' }));
    expect(refused).toMatchObject({ limit: 'account', waiting: 4 });
    const last = dispatcher.predict(MODEL, ['b'], { account: 'greedy' });
    const other = dispatcher.predict(MODEL, texts(5), { account: 'other' });
    for (let batch = 0; batch < 2; batch += 1) await worker.goOn();
    await Promise.all([running, asked, last, other]);
  });

  it('takes one request beyond the share of an account of which nothing waits', async () => {
    const { dispatcher, worker } = aDispatcher({ patient: true, maxWaiting: 10, maxWaitingPerAccount: 5 });
    const running = dispatcher.predict(MODEL, ['a']);
    await settled();
    const other = dispatcher.predict(MODEL, ['b'], { account: 'other' });
    const large = dispatcher.predict(MODEL, texts(7), { account: 'large' });
    for (let batch = 0; batch < 2; batch += 1) await worker.goOn();
    await Promise.all([running, other, large]);
  });

  it('holds an account to its share among requests whose models are yet to be measured, too', async () => {
    const { dispatcher } = aDispatcher({ maxWaiting: 10, maxWaitingPerAccount: 3, sizeOf: async () => 0 });
    const asked = ['greedy', 'greedy', 'other', 'greedy', 'other'].map((account) =>
      dispatcher.predict(MODEL, texts(2), { account }),
    );
    const outcomes = await Promise.allSettled(asked);
    const refused = { status: 'rejected', reason: { limit: 'account', waiting: 2 } };
    const answered = { status: 'fulfilled' };
    expect(outcomes).toMatchObject([answered, refused, answered, refused, refused]);
  });

  it('tells how long what waits will take, by what texts of each model took', async () => {
    const { dispatcher, workers } = aDispatcher({ workers: 2, patient: true, maxWaiting: 6 });
    const running: Promise<unknown>[] = [];
    for (const model of [MODEL, OTHER]) {
      running.push(dispatcher.predict(model, ['a']));
      await settled();
      for (const worker of workers) await worker.goOn();
    }
    await Promise.all(running);
    const figures = new Map(dispatcher.stats().models.map(({ directory, textMs }) => [directory, textMs]));
    const busy = [MODEL, OTHER].map((model) => dispatcher.predict(model, ['b']));
    await settled();
    const waiting = [dispatcher.predict(MODEL, texts(4)), dispatcher.predict(OTHER, texts(2))];
    const { waitingMs } = await failureOf('overloaded', () => dispatcher.predict(MODEL, texts(1)));
    expect(waitingMs).toBeCloseTo((4 * (figures.get(MODEL) ?? 0) + 2 * (figures.get(OTHER) ?? 0)) / 2);
    while (dispatcher.stats().waitingTexts + dispatcher.stats().runningTexts > 0) {
      for (const worker of workers) await worker.goOn();
    }
    await Promise.all([...busy, ...waiting]);
  });

  it('counts those whose model it has yet to measure', async () => {
    const sizeOf = async () => 0;
    const { dispatcher } = aDispatcher({ maxWaiting: 2, sizeOf });
    const asked = texts(5).map((text) => dispatcher.predict(MODEL, [text]));
    const outcomes = await Promise.allSettled(asked);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', ...Array(3).fill('rejected')]);
    expect(dispatcher.stats().requests).toMatchObject({ answered: 2, refused: 3, failed: 0 });
  });

  it('counts no longer those that were given up before their model was measured', async () => {
    const { dispatcher } = aDispatcher({ sizeOf: () => settled().then(() => 0) });
    const leaving = new AbortController();
    const asked = failureOf('aborted', () => dispatcher.predict(MODEL, ['x'], { signal: leaving.signal }));
    leaving.abort();
    await asked;
    expect(dispatcher.stats()).toMatchObject({ waitingTexts: 0, waitingRequests: 0 });
    await dispatcher.close();
  });

  it('counts what waits exactly, whatever comes and goes', async () => {
    const command = fc.record({ count: fc.integer({ min: 1, max: 8 }), isGivenUp: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 12 }), async (commands) => {
        const { dispatcher } = aDispatcher();
        const requests = commands.map(({ count, isGivenUp }) => {
          const { signal, abort } = aborter();
          const answer = dispatcher.predict(MODEL, texts(count), { signal }).catch(() => undefined);
          if (isGivenUp) abort();
          return answer;
        });
        const waiting = commands.filter(({ isGivenUp }) => !isGivenUp);
        expect(dispatcher.stats().waitingTexts).toBe(waiting.reduce((sum, { count }) => sum + count, 0));
        await Promise.all(requests);
        expect(dispatcher.stats()).toMatchObject({ waitingTexts: 0, waitingRequests: 0, runningTexts: 0 });
      }),
      { numRuns: 50 },
    );
  });

  it('takes a request that is larger than its queue if nothing waits', async () => {
    const { dispatcher } = aDispatcher({ maxWaiting: 10 });
    expect((await dispatcher.predict(MODEL, texts(300))).results).toHaveLength(300);
  });
});

describe('a model', () => {
  it('stays in the thread that has loaded it while it is asked little', async () => {
    const { dispatcher, workers } = aDispatcher({ workers: 4 });
    for (let round = 0; round < 20; round += 1) {
      for (const model of texts(8, '/models/')) await dispatcher.predict(model, ['a']);
    }
    expect(dispatcher.stats().models.map(({ workers }) => workers)).toEqual(new Array(8).fill(1));
    expect(dispatcher.stats().workers.map(({ models }) => models)).toEqual([2, 2, 2, 2]);
    expect(workers.every(({ batches }) => batches.length === 40)).toBe(true);
  });

  it('is loaded by further threads once waiting for one has cost as much as loading', async () => {
    const { dispatcher, workers } = aDispatcher({ workers: 3 });
    await dispatcher.predict(OTHER, ['a']);
    const loads: number[] = [];
    for (let round = 0; round < 40; round += 1) {
      await dispatcher.predict(MODEL, texts(20));
      loads.push(workers.flatMap(({ loaded }) => loaded).length);
    }
    expect(loads.indexOf(1)).toBeGreaterThan(3);
    expect(dispatcher.stats().models).toMatchObject([{ workers: 1 }, { workers: 3, texts: 800 }]);
    const sizes = workers.map(({ batches }) => batches.at(-1)?.texts.length);
    expect(sizes.every((size) => size !== undefined && size >= 6 && size <= 8)).toBe(true);
  });

  it('is loaded by every thread as soon as they could have helped, if the service has no other', async () => {
    const { dispatcher, workers } = aDispatcher({ workers: 3 });
    for (let round = 0; round < 5; round += 1) await dispatcher.predict(MODEL, ['a']);
    expect(dispatcher.stats().models).toMatchObject([{ workers: 1 }]);
    for (let round = 0; round < 3; round += 1) await dispatcher.predict(MODEL, texts(20));
    expect(workers.map(({ loaded }) => loaded.length)).toEqual([0, 1, 1]);
  });

  it('is told when a text has all threads for itself', async () => {
    const { dispatcher, worker } = aDispatcher();
    await dispatcher.predict(MODEL, ['a']);
    await dispatcher.predict(MODEL, ['a', 'b']);
    await Promise.all([dispatcher.predict(MODEL, ['c']), dispatcher.predict(OTHER, ['d'])]);
    expect(worker.batches.map(({ alone }) => alone)).toEqual([true, false, false, true]);
  });

  it('is loaded ahead of its first text, in the thread that will run it', async () => {
    const { dispatcher, workers } = aDispatcher({ workers: 2 });
    await dispatcher.warm(MODEL);
    await dispatcher.warm(OTHER);
    expect(workers.map(({ loaded }) => loaded)).toEqual([[MODEL], [OTHER]]);
    await dispatcher.warm(OTHER);
    expect(workers.map(({ loaded }) => new Set(loaded))).toEqual([new Set([MODEL]), new Set([OTHER])]);
    await dispatcher.predict(OTHER, ['a']);
    expect(workers.map(({ batches }) => batches.length)).toEqual([0, 1]);
  });
});

describe('a service that nobody asks', () => {
  it('gives back its memory after a while, and answers when it is asked again', async () => {
    const { dispatcher, worker } = aDispatcher({ idleMs: 10, sizeOf: () => 1000 });
    await dispatcher.predict(MODEL, ['a']);
    expect(dispatcher.stats().memory.models).toBe(1000);
    await expect.poll(() => worker.rests, { timeout: 20_000 }).toBe(1);
    expect(dispatcher.stats().memory.models).toBe(0);
    expect((await dispatcher.predict(MODEL, ['b'])).results).toHaveLength(1);
    expect(dispatcher.stats().memory.models).toBe(1000);
  });
});

describe('closing', () => {
  it('answers what waits, refuses what comes, and ends the threads', async () => {
    const { dispatcher, workers } = aDispatcher({ workers: 2 });
    const waiting = texts(5).map((text) => dispatcher.predict(MODEL, [text]));
    const closed = dispatcher.close();
    await failureOf('closed', () => dispatcher.predict(MODEL, ['late']));
    await failureOf('closed', () => dispatcher.warm(MODEL));
    expect(await Promise.all(waiting)).toHaveLength(5);
    await closed;
    await dispatcher.close();
    expect(workers.every(({ isClosed }) => isClosed)).toBe(true);
  });

  it('fails what has not been answered in its time', async () => {
    const { dispatcher, worker } = aDispatcher({ patient: true, closeMs: 20 });
    const requests = [['a'], ['b', 'c']].map((each) => dispatcher.predict(MODEL, each));
    await settled();
    requests.push(dispatcher.predict(OTHER, ['d']));
    const outcomes = Promise.allSettled(requests);
    await dispatcher.close();
    expect(await outcomes).toMatchObject(Array(3).fill({ reason: { code: 'closed' } }));
    expect(worker.isClosed).toBe(true);
  });
});

function aborter() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
