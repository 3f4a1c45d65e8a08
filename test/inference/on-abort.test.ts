import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { answerStream, callSchema, queryResponse, toResult } from '../../src/inference/index.js';
import { Dispatcher } from '../../src/inference/service.js';
import { onAbort } from '../../src/system/index.js';
import { FakeWorker } from './fake-worker.js';

const listenersOf = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

describe('what waits for a signal', () => {
  it('is told once when it fires, unless it was forgotten', () => {
    const controller = new AbortController();
    const told: string[] = [];
    onAbort(controller.signal, () => told.push('first'));
    const forget = onAbort(controller.signal, () => told.push('second'));
    onAbort(controller.signal, () => told.push('third'));
    forget();
    forget();
    controller.abort();
    expect(told).toEqual(['first', 'third']);
  });

  it('has one listener, and none once all is forgotten', () => {
    const { signal } = new AbortController();
    const each = Array.from({ length: 30 }, () => onAbort(signal, () => {}));
    expect(listenersOf(signal)).toBe(1);
    for (const forget of each) forget();
    expect(listenersOf(signal)).toBe(0);
    const again = onAbort(signal, () => {});
    for (const forget of each) forget();
    expect(listenersOf(signal)).toBe(1);
    again();
    expect(listenersOf(signal)).toBe(0);
  });
});

describe('a signal of a stream', () => {
  it('is listened to once, however many texts are under way, and no more in the end', async () => {
    const worker = new FakeWorker();
    const dispatcher = new Dispatcher([worker], { maxWaiting: 1000 });
    const { signal } = new AbortController();
    let most = 0;
    const ask = (query: string) => {
      const answer = toResult('asking', callSchema, { signal }, async () =>
        queryResponse(await dispatcher.predict('/models/a', [query], { signal })),
      );
      most = Math.max(most, listenersOf(signal));
      return answer;
    };
    const texts = Array.from({ length: 200 }, (_, at) => `t${at}`);
    let answers = 0;
    for await (const answer of answerStream(texts, ask, { signal, inFlight: 50 })) {
      if (answer.isOk()) answers += 1;
    }
    expect(answers).toBe(200);
    expect(most).toBe(1);
    expect(listenersOf(signal)).toBe(0);
    await dispatcher.close();
  });
});
