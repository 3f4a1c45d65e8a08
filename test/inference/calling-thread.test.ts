import { describe, expect, it } from 'vitest';
import { Dispatcher, type DispatcherOptions } from '../../src/inference/service.js';
import { failureOf } from '../support/outcomes.js';
import { FakeWorker, settled } from './fake-worker.js';

/** Which texts the calling thread answers, and which go to worker threads. */

const MODEL = '/models/a';
const MB = 2 ** 20;
const SHORT = 'works perfectly';

/** A service with two threads besides the calling one. Its fakes answer when they are told to if it is patient. */
function aService({ patient = false, ...options }: Partial<DispatcherOptions> & { patient?: boolean } = {}) {
  const here = new FakeWorker(patient);
  const threads = [new FakeWorker(patient), new FakeWorker(patient)];
  const service = new Dispatcher(threads, { maxWaiting: 1000, sizeOf: () => 10 * MB, here, ...options });
  const textsOf = (worker: FakeWorker) => worker.batches.flatMap(({ texts }) => texts);
  return { service, here, threads, textsHere: () => textsOf(here), textsInThreads: () => threads.flatMap(textsOf) };
}

describe('a short text that is asked alone', () => {
  it('is answered in the calling thread if its model was loaded ahead, and no thread has anything to do with it', async () => {
    const { service, here, threads, textsHere } = aService();
    await service.warm(MODEL);
    for (const text of ['a', 'b', 'c'])
      expect((await service.predict(MODEL, [text])).results[0]?.labels).toEqual([text]);
    expect(here.loaded).toEqual([MODEL]);
    expect(textsHere()).toEqual(['a', 'b', 'c']);
    expect(threads.flatMap(({ batches, loaded }) => [...batches, ...loaded])).toEqual([]);
    expect(service.stats()).toMatchObject({
      requests: { answered: 3 },
      texts: 3,
      memory: { models: 10 * MB, texts: 0 },
      models: [{ directory: MODEL, workers: 1, texts: 3 }],
      workers: [{ models: 0 }, { models: 0 }, { models: 1 }],
    });
    await service.close();
    expect(here.isClosed).toBe(true);
  });

  it('goes to a thread if its model was not loaded ahead, takes too much memory, or does not fit twice', async () => {
    const cases = [
      { isWarm: false },
      { isWarm: true, sizeOf: () => 101 * MB },
      { isWarm: true, sizeOf: () => 60 * MB, memoryLimit: 100 * MB },
    ];
    for (const { isWarm, ...options } of cases) {
      const { service, textsHere, textsInThreads } = aService(options);
      if (isWarm) await service.warm(MODEL);
      await service.predict(MODEL, [SHORT]);
      expect({ here: textsHere(), threads: textsInThreads() }).toEqual({ here: [], threads: [SHORT] });
      await service.close();
    }
  });

  it('goes to a thread once such texts are known to take longer than a millisecond', async () => {
    const { service, here, threads, textsInThreads } = aService();
    for (const worker of [here, ...threads]) worker.textMs = 5;
    here.loadMs = 50;
    await service.warm(MODEL);
    for (let asked = 0; asked < 60; asked += 1) await service.predict(MODEL, [SHORT]);
    // Three while its code may be cold, one that tells, and until the loss is worth a thread: 50 ms.
    expect(here.batches.length).toBeGreaterThan(10);
    expect(here.batches.length).toBeLessThan(20);
    expect(textsInThreads()).toHaveLength(60 - here.batches.length);
    await service.close();
  });

  it('can be given up, misses its deadline or fails as in a thread', async () => {
    const { service, here } = aService({ patient: true });
    const answered = service.warm(MODEL);
    await answered;
    const leaving = new AbortController();
    const given = service.predict(MODEL, [SHORT], { signal: leaving.signal });
    leaving.abort();
    await failureOf('aborted', () => given);
    expect([...here.cancelled.values()]).toEqual([[0]]);
    await here.goOn();
    await failureOf('deadline', () => service.predict(MODEL, [SHORT], { deadlineMs: 5 }));
    await here.goOn();
    here.poison = SHORT;
    const failing = expect(service.predict(MODEL, [SHORT])).rejects.toThrow('poison');
    await here.goOn();
    await failing;
    expect(service.stats().requests).toEqual({ answered: 0, refused: 0, cancelled: 2, failed: 1 });
    await service.close();
  });

  it('is answered in the calling thread again after a pause in which its memory was freed', async () => {
    const { service, here, textsHere } = aService({ idleMs: 10 });
    await service.warm(MODEL);
    await service.predict(MODEL, ['a']);
    await expect.poll(() => here.rests, { timeout: 20_000 }).toBe(1);
    expect(service.stats().memory.models).toBe(0);
    await service.predict(MODEL, ['b']);
    expect(textsHere()).toEqual(['a', 'b']);
    expect(service.stats().memory.models).toBe(10 * MB);
    await service.close();
  });

  it('goes to a thread once its model was forgotten', async () => {
    const { service, here, textsInThreads } = aService();
    await service.warm(MODEL);
    service.forget(MODEL);
    await service.predict(MODEL, [SHORT]);
    expect(here.forgotten).toEqual([MODEL]);
    expect(textsInThreads()).toEqual([SHORT]);
    await service.close();
  });
});

describe('everything else', () => {
  const many = Array.from({ length: 300 }, (_, at) => `${at}`);

  it('goes to threads once they have loaded the model: what is asked meanwhile, batches, long texts, explanations', async () => {
    const { service, here, threads, textsHere } = aService();
    await service.warm(MODEL);
    await service.predict(MODEL, many);
    expect(Math.max(...here.batches.map(({ texts }) => texts.length))).toBeLessThanOrEqual(5);
    expect(threads[0]?.loaded).toEqual([MODEL]);
    await settled();
    const before = textsHere().length;
    await Promise.all([
      service.predict(MODEL, ['a']),
      service.predict(MODEL, ['b']),
      service.predict(MODEL, ['c', 'd']),
      service.predict(MODEL, ['x'.repeat(5000)]),
      service.predict(MODEL, [SHORT], { explain: {} }),
    ]);
    expect(textsHere().slice(before)).toEqual(['a']);
    expect(here.loaded).toEqual([MODEL]);
    await service.close();
  });

  it('is answered in the calling thread, a few milliseconds at a time, until a thread has loaded the model', async () => {
    const { service, here, threads } = aService();
    await service.warm(MODEL);
    for (let asked = 0; asked < 5; asked += 1) await service.predict(MODEL, ['a']);
    const loads: (() => void)[] = [];
    for (const thread of threads) {
      thread.load = () => new Promise((resolve) => loads.push(() => resolve({ ms: 100, bytes: 10 * MB })));
    }
    await service.predict(MODEL, many.slice(0, 40));
    expect(loads).toEqual([]);
    expect((await service.predict(MODEL, many)).results.map(({ labels }) => labels[0])).toEqual(many);
    expect(loads).not.toEqual([]);
    const batches = here.batches.slice(5).map((batch) => batch.texts.length);
    expect(batches.reduce((sum, count) => sum + count, 0)).toBe(340);
    expect(Math.max(...batches)).toBeLessThanOrEqual(5);
    for (const isLoaded of loads) isLoaded();
    await settled();
    await service.predict(MODEL, many);
    expect(threads.flatMap((thread) => thread.batches.flatMap((batch) => batch.texts))).toHaveLength(300);
    await service.close();
  });

  it('is a thread’s at once if it is long, and short texts behind it don’t wait for that thread', async () => {
    const { service, here, threads } = aService({ patient: true });
    await service.warm(MODEL);
    const long = 'x'.repeat(5000);
    const asked = service.predict(MODEL, [long]);
    await settled();
    const short = service.predict(MODEL, ['a', 'b']);
    await settled();
    expect(threads.map(({ batches }) => batches.flatMap(({ texts }) => texts))).toEqual([[long], []]);
    for (let text = 0; text < 2; text += 1) await here.goOn();
    expect((await short).results).toHaveLength(2);
    await threads[0]?.goOn();
    await asked;
    expect(here.batches.flatMap(({ texts }) => texts)).toEqual(['a', 'b']);
    await service.close();
  });
});
