import { describe, expect, it } from 'vitest';
import { PendingRequest, RequestQueue } from '../../src/inference/request-queue.js';

const MODEL = '/models/a';

function aRequest(account: string, directory = MODEL): PendingRequest {
  const ignore = () => undefined;
  return new PendingRequest(directory, ['a text'], ignore, ignore, account);
}

/** Takes texts one by one. @returns whose each was */
function turns(queue: RequestQueue, count: number): string[] {
  return Array.from({ length: count }, () => {
    const [next] = queue.inOrder();
    if (next === undefined) return 'nobody';
    queue.take(next, { work: 1, texts: 1, longWork: 1e6, mayBeginLong: true });
    return next.account;
  });
}

describe('accounts whose requests wait', () => {
  it('take turns, and one that joins late gets no turns for the time when it did not ask', () => {
    const queue = new RequestQueue();
    for (let at = 0; at < 40; at += 1) queue.add(aRequest('early'));
    expect(turns(queue, 20)).toEqual(Array(20).fill('early'));
    for (let at = 0; at < 20; at += 1) queue.add(aRequest('late'));
    const shared = turns(queue, 20).filter((account) => account === 'early');
    expect(shared.length).toBeGreaterThanOrEqual(9);
    expect(shared.length).toBeLessThanOrEqual(11);
  });

  it('gain nothing by a pause either', () => {
    const queue = new RequestQueue();
    for (const account of ['pauses', 'stays']) queue.add(aRequest(account));
    turns(queue, 2);
    for (let at = 0; at < 40; at += 1) queue.add(aRequest('stays'));
    turns(queue, 20);
    for (let at = 0; at < 20; at += 1) queue.add(aRequest('pauses'));
    const shared = turns(queue, 10).filter((account) => account === 'stays');
    expect(shared.length).toBeGreaterThanOrEqual(4);
    expect(shared.length).toBeLessThanOrEqual(6);
  });

  it('are forgotten once many others have asked, unless some of their texts wait', () => {
    const queue = new RequestQueue();
    for (let at = 0; at < 1200; at += 1) {
      queue.add(aRequest(`account ${at}`));
      turns(queue, 1);
    }
    queue.add(aRequest('waits'));
    for (let at = 0; at < 1200; at += 1) queue.add(aRequest('asks much', `/models/${at}`));
    expect(queue.waitingOf('waits').texts).toBe(1);
    expect(queue.waiting.texts).toBe(1201);
    expect(new Set(turns(queue, 4))).toEqual(new Set(['waits', 'asks much']));
  });

  it('have their texts counted, together and each', () => {
    const queue = new RequestQueue();
    const removed = aRequest('a');
    for (const each of [removed, aRequest('a'), aRequest('b')]) queue.add(each);
    queue.remove(removed);
    queue.remove(removed);
    expect(queue.waiting).toEqual({ texts: 2, characters: 12 });
    expect(queue.waitingOf('a')).toEqual({ texts: 1, characters: 6 });
    turns(queue, 2);
    expect(queue.waiting).toEqual({ texts: 0, characters: 0 });
    expect(queue.waitingOf('a')).toEqual({ texts: 0, characters: 0 });
    expect(queue.isEmpty).toBe(true);
  });
});
