import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import { inThread, RemoteWorker } from '../../src/inference/remote-worker.js';
import { Dispatcher } from '../../src/inference/service.js';

/** Worker threads that die, in every way that one can, and what becomes of what they were asked. */

/** A worker that answers each text with itself, or does what the text says. */
const program = `
  const { parentPort } = require('node:worker_threads');
  const eat = () => { const all = []; for (;;) all.push(new Array(10000).fill({})); };
  const acts = {
    throw: () => { throw new Error('thrown outside'); },
    reject: () => { Promise.reject(new Error('rejected outside')); return true; },
    exit: () => { process.exit(3); },
    eat,
    hang: () => { for (;;); },
    silence: () => true,
  };
  parentPort.on('message', ({ type, ask, batch }) => {
    if (type === 'close') return parentPort.close();
    if (type !== 'run') return;
    for (const text of batch.texts) if (acts[text]?.()) return;
    const results = batch.texts.map((text) => ({ labels: [text], scores: [1] }));
    const times = { load: 0, tokenize: 0, run: 1, decode: 0 };
    parentPort.postMessage({ ask, answer: { results, truncated: [], times, isUnfinished: false } });
  });
`;

function aService(timeouts = { runMs: 60_000, loadMs: 60_000 }) {
  const threads: Worker[] = [];
  const open = () => {
    const resourceLimits = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4 };
    const thread = new Worker(program, { eval: true, resourceLimits });
    threads.push(thread);
    return inThread(thread);
  };
  const service = new Dispatcher([new RemoteWorker({ threads: 1 }, open)], { maxWaiting: 100, timeouts });
  onTestFinished(() => service.close());
  return { service, threads };
}

describe('a worker thread that dies', () => {
  it.each([
    ['throws', 'throw', /thrown outside/],
    ['has a rejection that nobody handles', 'reject', /rejected outside/],
    ['exits', 'exit', /exited/],
    ['runs out of memory', 'eat', /memory/],
  ])('as it %s fails its request with a typed error, and is replaced', async (_, text, message) => {
    const { service, threads } = aService();
    for (let round = 1; round <= 2; round += 1) {
      const failed = await service.predict('/m', [text]).catch((error) => error);
      expect(failed).toMatchObject({ code: 'internal', message: expect.stringMatching(message) });
      const { results } = await service.predict('/m', ['a']);
      expect(results).toEqual([{ labels: ['a'], scores: [1] }]);
      expect(threads).toHaveLength(1 + round);
    }
    expect(service.stats().requests).toMatchObject({ answered: 2, failed: 2 });
    await service.close();
  });

  it('fails no request but the one that kills it', async () => {
    const { service } = aService();
    const requests = ['a', 'exit', 'b', 'c'].map((text) => service.predict('/m', [text]));
    expect((await Promise.allSettled(requests)).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
  });

  it('does not keep closing from its end', async () => {
    const { service } = aService();
    const dying = service.predict('/m', ['exit']).catch((error) => error);
    await service.close();
    expect(await dying).toMatchObject({ code: 'internal' });
  });
});

describe('a worker thread that rests', () => {
  it('ends, and is started again when something is asked', async () => {
    const threads: Worker[] = [];
    const worker = new RemoteWorker({ threads: 1 }, () => {
      const thread = new Worker(program, { eval: true });
      threads.push(thread);
      return inThread(thread);
    });
    const batch = { directory: '/m', texts: ['a'], alone: false };
    await worker.run({ id: 1, ...batch });
    const ended = new Promise((resolve) => threads[0]?.once('exit', resolve));
    worker.rest();
    expect((await worker.run({ id: 2, ...batch })).results).toHaveLength(1);
    expect(await ended).toBe(0);
    expect(threads).toHaveLength(2);
    await worker.close();
  });
});

describe('a worker thread that hangs', () => {
  it.each(['hang', 'silence'])('(%s) is replaced, and its request fails', async (text) => {
    const { service, threads } = aService({ runMs: 100, loadMs: 100 });
    await expect(service.predict('/m', [text])).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringContaining('was replaced'),
    });
    expect((await service.predict('/m', ['a'])).results).toHaveLength(1);
    expect(threads).toHaveLength(2);
    await service.close();
  });

  it('does not keep closing from its end', async () => {
    const thread = new Worker(program, { eval: true });
    const worker = new RemoteWorker({ threads: 1 }, () => inThread(thread));
    const service = new Dispatcher([worker], { maxWaiting: 100, closeMs: 50 });
    const hung = service.predict('/m', ['hang']).catch((error) => error);
    await service.close();
    expect(await hung).toMatchObject({ code: 'closed' });
  });
});
