import { describe, expect, it, vi } from 'vitest';
import { calendarQuota } from '../../src/http/index.js';
import { fileStorage, memoryStorage, type Storage } from '../../src/storage/index.js';
import { fakeTimers } from '../support/fake-timers.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** A clock that is set, not waited for. */
function aClock(time: string) {
  let ms = Date.parse(time);
  return {
    now: () => ms,
    set: (later: string) => {
      ms = Date.parse(later);
    },
  };
}

const DAY_MS = 24 * 60 * 60 * 1000;

describe('a quota of calls', () => {
  it('is for each account and month of the calendar, and tells when the next begins', async () => {
    const clock = aClock('2028-02-28T12:00:00Z');
    const quota = calendarQuota({ calls: 5, per: 'month', now: clock.now });
    await quota.consume('acme', 4);
    await quota.consume('acme');
    // 2028 is a leap year: half of the 28th and the whole 29th are left.
    await expect(quota.consume('acme')).rejects.toEqual({ msBeforeNext: 1.5 * DAY_MS });
    await quota.consume('shop', 5);
    clock.set('2028-03-01T00:00:00Z');
    await quota.consume('acme', 5);
  });

  it('is for each day', async () => {
    const clock = aClock('2026-12-31T23:59:59Z');
    const quota = calendarQuota({ calls: 1, per: 'day', now: clock.now });
    await quota.consume('acme');
    await expect(quota.consume('acme')).rejects.toEqual({ msBeforeNext: 1000 });
    clock.set('2027-01-01T00:00:00Z');
    await quota.consume('acme');
  });

  it('takes back what it is rewarded', async () => {
    const quota = calendarQuota({ calls: 2, per: 'day' });
    await quota.consume('acme', 2);
    await quota.reward('acme', 2);
    await quota.consume('acme', 2);
  });

  it('counts calls that come together', async () => {
    const quota = calendarQuota({ calls: 10, per: 'day', storage: memoryStorage() });
    const calls = Array.from({ length: 30 }, () => quota.consume('acme'));
    const refused = (await Promise.allSettled(calls)).filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(20);
  });
});

describe('the counts in a storage', () => {
  const clock = aClock('2026-11-21T10:00:00Z');
  const options = (storage: Storage) => ({ calls: 10, per: 'month', storage, now: clock.now }) as const;

  it('are there after a restart', async () => {
    const directory = temporaryDirectory();
    const before = calendarQuota(options(fileStorage(directory)));
    await before.consume('a/cme', 7);
    await before.close();
    const after = calendarQuota(options(fileStorage(directory)));
    await after.consume('a/cme', 3);
    await expect(after.consume('a/cme')).rejects.toMatchObject({ msBeforeNext: expect.any(Number) });
  });

  it('are saved without being told to', async () => {
    fakeTimers();
    const storage = memoryStorage();
    await calendarQuota(options(storage)).consume('acme', 10);
    await vi.runAllTimersAsync();
    await expect(calendarQuota(options(storage)).consume('acme')).rejects.toHaveProperty('msBeforeNext');
  });

  it('are the sum of what several processes counted', async () => {
    const storage = memoryStorage();
    const [one, other] = [calendarQuota(options(storage)), calendarQuota(options(storage))];
    await Promise.all([one.consume('acme', 4), other.consume('acme', 5)]);
    await Promise.all([one.close(), other.close()]);
    const third = calendarQuota(options(storage));
    await third.consume('acme', 1);
    await expect(third.consume('acme')).rejects.toHaveProperty('msBeforeNext');
  });

  it('of a month that is over are forgotten', async () => {
    const storage = memoryStorage();
    const later = aClock('2026-11-30T23:59:59Z');
    const quota = calendarQuota({ ...options(storage), now: later.now });
    await quota.consume('acme', 10);
    await quota.close();
    later.set('2026-12-01T00:00:00Z');
    await quota.consume('acme', 10);
    await quota.close();
    await expect(calendarQuota({ ...options(storage), now: later.now }).consume('acme')).rejects.toBeDefined();
  });

  it('of a month that is over do not take the place of those of the next, however late they are saved', async () => {
    const storage = memoryStorage();
    const slow = aClock('2026-11-30T23:59:59Z');
    const fast = aClock('2026-12-01T00:00:00Z');
    const [late, early] = [slow, fast].map(({ now }) => calendarQuota({ ...options(storage), now }));
    await late?.consume('acme', 3);
    await early?.consume('acme', 10);
    await early?.close();
    await late?.close();
    await expect(calendarQuota({ ...options(storage), now: fast.now }).consume('acme')).rejects.toHaveProperty(
      'msBeforeNext',
    );
  });

  it('begin anew where the quota becomes one per day, or per month', async () => {
    const storage = memoryStorage();
    for (const per of ['month', 'day', 'month'] as const) {
      const quota = calendarQuota({ ...options(storage), per });
      await quota.consume('acme', 10);
      await quota.close();
      await expect(calendarQuota({ ...options(storage), per }).consume('acme')).rejects.toHaveProperty('msBeforeNext');
    }
  });

  it('that cannot be read are an error, not a free pass', async () => {
    const storage = memoryStorage();
    await storage.write('quota', 'acme', { calls: 'many' }, undefined);
    await expect(calendarQuota(options(storage)).consume('acme')).rejects.toThrow('quota/acme');
  });

  it('that could not be saved are kept for the next attempt', async () => {
    const storage = memoryStorage();
    const quota = calendarQuota(options(storage));
    await quota.consume('acme', 10);
    vi.spyOn(storage, 'write').mockRejectedValueOnce(new Error('the disk is full'));
    await expect(quota.close()).rejects.toThrow('the disk is full');
    await quota.close();
    await expect(calendarQuota(options(storage)).consume('acme')).rejects.toHaveProperty('msBeforeNext');
  });
});
