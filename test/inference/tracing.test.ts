import { type TracingChannelSubscribers, tracingChannel } from 'node:diagnostics_channel';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RequestTrace, StageTrace } from '../../src/inference/index.js';
import { Dispatcher } from '../../src/inference/service.js';
import { FakeWorker } from './fake-worker.js';

const STAGES = ['orchard.queue', 'orchard.load', 'orchard.tokenize', 'orchard.run', 'orchard.decode'];

/** Collects what a channel's subscribers are told. */
function listenTo<Trace extends object>(name: string): Trace[] {
  const heard: Trace[] = [];
  subscribe<Trace>(name, { end: (trace) => heard.push(trace) });
  return heard;
}

function subscribe<Trace extends object>(name: string, subscribers: Partial<TracingChannelSubscribers<Trace>>): void {
  const nothing = () => {};
  const all = { start: nothing, end: nothing, asyncStart: nothing, asyncEnd: nothing, error: nothing };
  const channel = tracingChannel<Trace, Trace>(name);
  channel.subscribe({ ...all, ...subscribers });
  onTestFinished(() => channel.unsubscribe({ ...all, ...subscribers }));
}

describe('tracing', () => {
  it('tells each stage of a batch, with times that follow each other and the requests it was for', async () => {
    const worker = new FakeWorker();
    worker.loadMs = 20;
    const requests = listenTo<RequestTrace>('orchard.predict');
    const stages = STAGES.map((name) => listenTo<StageTrace>(name));
    const dispatcher = new Dispatcher([worker], { maxWaiting: 100 });
    const startedAt = performance.timeOrigin + performance.now();
    await Promise.all([dispatcher.predict('/a', ['one']), dispatcher.predict('/a', ['two', 'three'])]);
    await dispatcher.close();

    expect(requests).toMatchObject([
      { model: '/a', texts: 1 },
      { model: '/a', texts: 2 },
    ]);
    const [queue = [], load = [], tokenize = [], run = [], decode = []] = stages;
    expect(queue.map(({ texts }) => texts)).toEqual([1, 2]);
    expect([load, tokenize, run, decode].map((heard) => heard.map(({ texts }) => texts))).toEqual([[], [3], [3], [3]]);
    expect(run[0]?.requests).toEqual(requests);
    expect(run[0]?.requests[0]).toBe(requests[0]);
    const [waited, ran] = [queue[0], run[0]];
    expect(waited?.startTime).toBeGreaterThanOrEqual(startedAt);
    expect(ran?.startTime).toBeCloseTo(waited?.endTime ?? Number.NaN, 6);
    expect((ran?.endTime ?? 0) - (ran?.startTime ?? 0)).toBeCloseTo(3, 6);
    expect(decode[0]?.startTime).toBe(ran?.endTime);
  });

  it('tells when a model was loaded', async () => {
    const load = listenTo<StageTrace>('orchard.load');
    const worker = new FakeWorker();
    worker.loadMs = 20;
    const dispatcher = new Dispatcher([worker], { maxWaiting: 100 });
    await dispatcher.warm('/a');
    expect(load).toMatchObject([{ model: '/a', texts: 0 }]);
    await dispatcher.close();
  });

  it('tells a failure', async () => {
    const errors: unknown[] = [];
    subscribe<RequestTrace>('orchard.predict', { error: ({ error }) => errors.push(error) });
    const worker = new FakeWorker();
    worker.poison = 'bad';
    const dispatcher = new Dispatcher([worker], { maxWaiting: 100 });
    await expect(dispatcher.predict('/a', ['bad'])).rejects.toThrow('poison');
    expect(errors).toMatchObject([{ message: 'poison' }]);
  });
});
