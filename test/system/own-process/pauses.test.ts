import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import * as z from 'zod';
import { validate } from '../../../src/contract/index.js';
import {
  filterWithPauses,
  isPauseDue,
  mapWithPauses,
  pause,
  runToEnd,
  type Steps,
  validateWithPauses,
  withPauses,
} from '../../../src/system/index.js';

/** How long the thread computes before others get a turn. */
const SLICE_MS = 10;

let time = performance.now();

/** Time that passes only by hand, so this file has a process of its own; and how many turns others had. */
function aManualTime() {
  time += 3_600_000; // later than any turn so far
  const now = vi.spyOn(performance, 'now').mockImplementation(() => time);
  let turns = 0;
  let isOver = false;
  onTestFinished(() => {
    isOver = true;
    now.mockRestore();
  });
  void (async () => {
    while (!isOver) {
      await nextTurn();
      turns += 1;
    }
  })();
  const pass = (ms: number) => {
    time += ms;
  };
  return { pass, turns: () => turns };
}

describe('a pause', () => {
  it('is due when the thread has computed for ten milliseconds', async () => {
    const { pass } = aManualTime();
    expect(isPauseDue()).toBe(true);
    await pause();
    expect(isPauseDue()).toBe(false);
    pass(SLICE_MS - 1);
    expect(isPauseDue()).toBe(false);
    pass(1);
    expect(isPauseDue()).toBe(true);
  });

  it('gives others a turn where it is due, and else is none', async () => {
    const { turns } = aManualTime();
    await pause();
    const before = turns();
    expect(before).toBeGreaterThan(0);
    await pause();
    expect(turns()).toBe(before);
  });

  it('ends the work once its signal has fired, due or not', async () => {
    const { pass } = aManualTime();
    for (const ms of [SLICE_MS, 0]) {
      pass(ms);
      await expect(pause(AbortSignal.abort())).rejects.toMatchObject({ code: 'aborted' });
      await pause(new AbortController().signal);
    }
  });
});

describe('steps', () => {
  /** Each takes 4 ms; 10 of them. */
  function* aWork(pass: (ms: number) => void, each: (step: number) => void = () => undefined): Steps<string> {
    for (let step = 1; step <= 10; step += 1) {
      pass(4);
      each(step);
      yield;
    }
    return 'done';
  }

  it('are taken at once or with pauses, and have the same result', async () => {
    const { pass, turns } = aManualTime();
    expect(runToEnd(aWork(pass))).toBe('done');
    expect(turns()).toBe(0);
    const seen: number[] = [];
    expect(await withPauses(aWork(pass, () => seen.push(turns())))).toBe('done');
    // A turn before the first and after every third step, which is when ten milliseconds are over.
    expect(new Set(seen).size).toBe(4);
    expect([0, 3, 6, 9].map((at) => seen.indexOf(seen[at] ?? -1))).toEqual([0, 3, 6, 9]);
  });

  it('end with the slice in which the signal fires', async () => {
    const { pass } = aManualTime();
    const stop = new AbortController();
    let last = 0;
    const work = aWork(pass, (step) => {
      last = step;
      if (step === 2) stop.abort();
    });
    await expect(withPauses(work, stop.signal)).rejects.toMatchObject({ code: 'aborted' });
    expect(last).toBe(3);
  });

  it('are none once the signal has fired', async () => {
    const { pass } = aManualTime();
    const work = aWork(pass, () => expect.fail('no step'));
    await expect(withPauses(work, AbortSignal.abort())).rejects.toMatchObject({ code: 'aborted' });
    const never = () => expect.fail('no item');
    await expect(mapWithPauses([1], never, AbortSignal.abort())).rejects.toMatchObject({ code: 'aborted' });
    await expect(filterWithPauses([1], never, AbortSignal.abort())).rejects.toMatchObject({ code: 'aborted' });
  });

  it('map and filter as arrays do', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer()), async (items) => {
        const change = (item: number, at: number) => item * 2 + at;
        expect(await mapWithPauses(items, change)).toEqual(items.map(change));
        const keeps = (item: number) => item % 2 === 0;
        expect(await filterWithPauses(items, keeps)).toEqual(items.filter(keeps));
      }),
    );
  });

  it('filter with a pause in every slice, until the signal fires', async () => {
    const { pass, turns } = aManualTime();
    const stop = new AbortController();
    const seen: number[] = [];
    const keeps = (item: number) => {
      pass(SLICE_MS);
      seen.push(turns());
      if (item === 3) stop.abort();
      return true;
    };
    await expect(filterWithPauses([1, 2, 3, 4], keeps, stop.signal)).rejects.toMatchObject({ code: 'aborted' });
    expect(new Set(seen).size).toBe(3);
  });
});

describe('a long list', () => {
  const schema = z.array(z.string().max(3));
  const outcomeOf = async (work: () => unknown) => {
    try {
      return { value: await work() };
    } catch (thrown) {
      return { thrown };
    }
  };

  it('is checked as a short one is, wherever it is wrong', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(0, 1, 499, 500, 501, 1000, 1001),
        fc.array(fc.tuple(fc.nat(1000), fc.constantFrom(5, 'long', null)), { maxLength: 3 }),
        async (length, wrong) => {
          const list: unknown[] = Array.from({ length }, (_, at) => String(at % 1000));
          for (const [at, value] of wrong) if (at < length) list[at] = value;
          const expected = await outcomeOf(() => validate(schema, list, ['texts']));
          expect(await outcomeOf(() => validateWithPauses(schema, list, ['texts']))).toEqual(expected);
        },
      ),
      { numRuns: 50 },
    );
    expect(await outcomeOf(() => validateWithPauses(schema, 'text', ['texts']))).toEqual(
      await outcomeOf(() => validate(schema, 'text', ['texts'])),
    );
  });

  it('is checked as it was when it was handed over, with pauses', async () => {
    const { pass, turns } = aManualTime();
    const slow = z.array(
      z.string().transform((text) => {
        pass(1);
        return text;
      }),
    );
    const list: unknown[] = Array.from({ length: 1200 }, () => 'a');
    const checking = validateWithPauses(slow, list, []);
    list.fill(5);
    expect(await checking).toEqual(Array.from({ length: 1200 }, () => 'a'));
    expect(turns()).toBeGreaterThanOrEqual(3);
  });
});
