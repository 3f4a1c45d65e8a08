import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Dispatcher } from '../../src/inference/dispatcher.js';
import { failureOf } from '../support/outcomes.js';
import { FakeLane, settled } from './fake-lane.js';

const MODEL = '/models/a';
const OTHER = '/models/b';

function aDispatcher({ lanes = 1, patient = false, maxWaiting = 1000 } = {}) {
  const made = Array.from({ length: lanes }, () => new FakeLane(patient));
  const [first = new FakeLane()] = made;
  return { dispatcher: new Dispatcher(made, { maxWaiting }), lanes: made, lane: first };
}

const texts = (count: number, prefix = 't') => Array.from({ length: count }, (_, at) => `${prefix}${at}`);

describe('requests of many callers', () => {
  it('are each answered with the results of their own texts, in their order', async () => {
    const request = fc.record({
      model: fc.constantFrom(MODEL, OTHER, '/models/c'),
      texts: fc.array(fc.string({ maxLength: 300 }), { maxLength: 40 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(request, { maxLength: 20 }),
        fc.integer({ min: 1, max: 3 }),
        async (all, lanes) => {
          const { dispatcher } = aDispatcher({ lanes });
          const answers = await Promise.all(all.map(({ model, texts }) => dispatcher.predict(model, texts)));
          for (const [at, { results, truncated }] of answers.entries()) {
            const asked = all[at]?.texts ?? [];
            expect(results.map(({ labels }) => labels[0])).toEqual(asked);
            expect(truncated).toEqual(asked.flatMap((text, index) => (text.length > 100 ? [index] : [])));
          }
          await dispatcher.close();
        },
      ),
      { numRuns: 50 },
    );
  });

  it('go together if they come in one turn, or while the thread is busy', async () => {
    const { dispatcher, lane } = aDispatcher({ patient: true });
    const early = [dispatcher.predict(MODEL, ['a']), dispatcher.predict(MODEL, ['b'])];
    await settled();
    const late = [dispatcher.predict(MODEL, ['c']), dispatcher.predict(MODEL, ['d', 'e'])];
    await lane.goOn();
    await lane.goOn();
    await Promise.all([...early, ...late]);
    expect(lane.batches.map((batch) => batch.texts)).toEqual([
      ['a', 'b'],
      ['c', 'd', 'e'],
    ]);
  });

  it('of one who asks again as soon as he is answered go together with the others’', async () => {
    const { dispatcher, lane } = aDispatcher();
    const caller = async () => {
      for (let round = 0; round < 3; round += 1) await dispatcher.predict(MODEL, ['x']);
    };
    await Promise.all(Array.from({ length: 8 }, caller));
    expect(lane.batches.map((batch) => batch.texts.length)).toEqual([8, 8, 8]);
  });

  it('for one model do not hold up those for another', async () => {
    const { dispatcher, lane } = aDispatcher({ patient: true });
    const many = dispatcher.predict(MODEL, texts(500));
    await settled();
    const one = dispatcher.predict(OTHER, ['b']);
    for (let batch = 0; batch < 3; batch += 1) await lane.goOn();
    expect((await one).results).toHaveLength(1);
    expect(lane.batches.slice(0, 3).map(({ directory }) => directory)).toEqual([MODEL, OTHER, MODEL]);
    while (dispatcher.stats().runningTexts > 0) await lane.goOn();
    expect((await many).results).toHaveLength(500);
  });

  it('fail alone where they fail', async () => {
    const { dispatcher, lane } = aDispatcher();
    lane.poison = 'bad';
    const requests = [['a'], ['bad'], ['b', 'c']].map((each) => dispatcher.predict(MODEL, each));
    const labels = requests.map(async (request) =>
      (await request).results.flatMap((result) => result.labels),
    );
    expect(await Promise.allSettled(labels)).toMatchObject([
      { value: ['a'] },
      { reason: { message: 'poison' } },
      { value: ['b', 'c'] },
    ]);
    expect(dispatcher.stats().requests).toEqual({ answered: 2, refused: 0, cancelled: 0, failed: 1 });
  });
});

describe('a request that is given up', () => {
  it('leaves the queue, and the others go on', async () => {
    const { dispatcher, lane } = aDispatcher({ patient: true });
    const running = dispatcher.predict(MODEL, ['a']);
    await settled();
    const { signal, abort } = aborter();
    const given = dispatcher.predict(MODEL, ['b'], { signal });
    const kept = dispatcher.predict(MODEL, ['c']);
    abort();
    await failureOf('aborted', () => given);
    await lane.goOn();
    await lane.goOn();
    await Promise.all([running, kept]);
    expect(lane.batches.map((batch) => batch.texts)).toEqual([['a'], ['c']]);
  });

  it('is cancelled in the batch under way, where others are answered all the same', async () => {
    const { dispatcher, lane } = aDispatcher({ patient: true });
    const { signal, abort } = aborter();
    const given = dispatcher.predict(MODEL, ['a', 'b'], { signal });
    const kept = dispatcher.predict(MODEL, ['c']);
    await settled();
    abort();
    await failureOf('aborted', () => given);
    expect([...lane.cancelled.values()]).toEqual([[0, 1]]);
    await lane.goOn();
    expect((await kept).results).toEqual([{ labels: ['c'], scores: [1] }]);
    expect(dispatcher.stats().requests.cancelled).toBe(1);
  });

  it('fails with a DeadlineError when its deadline passes', async () => {
    const { dispatcher, lane } = aDispatcher({ patient: true });
    const late = dispatcher.predict(MODEL, ['a'], { deadlineMs: 5 });
    expect(await failureOf('deadline', () => late)).toMatchObject({ deadlineMs: 5 });
    await lane.goOn();
    const next = dispatcher.predict(MODEL, ['b'], { deadlineMs: 60_000 });
    await settled();
    await lane.goOn();
    expect((await next).results).toHaveLength(1);
  });
});

describe('a service that is asked too much', () => {
  it('refuses what does not fit into its queue, and goes on afterwards', async () => {
    const { dispatcher, lane } = aDispatcher({ patient: true, maxWaiting: 10 });
    const running = dispatcher.predict(MODEL, ['a']);
    await settled();
    const waiting = dispatcher.predict(MODEL, texts(10));
    expect(await failureOf('overloaded', () => dispatcher.predict(MODEL, ['b']))).toMatchObject({
      waiting: 10,
    });
    await lane.goOn();
    await lane.goOn();
    await Promise.all([running, waiting]);
    const again = dispatcher.predict(MODEL, ['b']);
    await settled();
    await lane.goOn();
    await again;
    expect(dispatcher.stats().requests).toEqual({ answered: 3, refused: 1, cancelled: 0, failed: 0 });
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
    const { dispatcher, lanes } = aDispatcher({ lanes: 4 });
    for (let round = 0; round < 20; round += 1) {
      for (const model of texts(8, '/models/')) await dispatcher.predict(model, ['a']);
    }
    expect(dispatcher.stats().models.map(({ workers }) => workers)).toEqual(new Array(8).fill(1));
    expect(dispatcher.stats().workers.map(({ models }) => models)).toEqual([2, 2, 2, 2]);
    expect(lanes.every(({ batches }) => batches.length === 40)).toBe(true);
  });

  it('is loaded by further threads once waiting for one has cost as much as loading', async () => {
    const { dispatcher, lanes } = aDispatcher({ lanes: 3 });
    for (let round = 0; round < 40; round += 1) await dispatcher.predict(MODEL, texts(20));
    expect(dispatcher.stats().models).toMatchObject([{ workers: 3, texts: 800 }]);
    const sizes = lanes.map(({ batches }) => batches.at(-1)?.texts.length);
    expect(sizes.every((size) => size !== undefined && size >= 6 && size <= 8)).toBe(true);
  });

  it('is told when a text has all threads for itself', async () => {
    const { dispatcher, lane } = aDispatcher();
    await dispatcher.predict(MODEL, ['a']);
    await dispatcher.predict(MODEL, ['a', 'b']);
    await Promise.all([dispatcher.predict(MODEL, ['c']), dispatcher.predict(OTHER, ['d'])]);
    expect(lane.batches.map(({ alone }) => alone)).toEqual([true, false, false, true]);
  });

  it('is loaded ahead of its first text, in the thread that will run it', async () => {
    const { dispatcher, lanes } = aDispatcher({ lanes: 2 });
    await dispatcher.warm(MODEL);
    await dispatcher.warm(OTHER);
    expect(lanes.map(({ loaded }) => loaded)).toEqual([[MODEL], [OTHER]]);
    await dispatcher.predict(OTHER, ['a']);
    expect(lanes.map(({ batches }) => batches.length)).toEqual([0, 1]);
  });
});

describe('closing', () => {
  it('answers what waits, refuses what comes, and ends the threads', async () => {
    const { dispatcher, lanes } = aDispatcher({ lanes: 2 });
    const waiting = texts(5).map((text) => dispatcher.predict(MODEL, [text]));
    const closed = dispatcher.close();
    await failureOf('closed', () => dispatcher.predict(MODEL, ['late']));
    await failureOf('closed', () => dispatcher.warm(MODEL));
    expect(await Promise.all(waiting)).toHaveLength(5);
    await closed;
    await dispatcher.close();
    expect(lanes.every(({ isClosed }) => isClosed)).toBe(true);
  });
});

function aborter() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
