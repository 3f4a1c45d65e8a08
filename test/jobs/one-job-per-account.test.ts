import { describe, expect, it } from 'vitest';
import { AccountLease, HEARTBEAT_MS, LEASE_MS } from '../../src/jobs/one-job-per-account.js';
import type { Storage } from '../../src/storage/index.js';
import { ownedName } from '../../src/system/index.js';
import { anEndedName } from '../support/ended-process.js';
import { aMemoryStorage } from './builders.js';
import { ManualClock } from './manual-clock.js';

const AN_HOUR_MS = 3_600_000;
const ELSEWHERE = 'a worker of another machine';
const DEAD = anEndedName();

function aLease(storage: Storage, clock = new ManualClock(), holder = ownedName()) {
  return { clock, lease: new AccountLease(storage, 'local', { clock, holder }) };
}

/** A lease that a process got whose clock was set like this, before it was killed. */
async function aLeaseLeftBy(holder: string, aheadMs = 0): Promise<Storage> {
  const storage = aMemoryStorage();
  const { clock, lease } = aLease(storage, new ManualClock(), holder);
  clock.set(aheadMs);
  expect(await lease.acquire()).toBe(true);
  await lease.hold('the job');
  return storage;
}

describe('the lease of a process of this machine that has ended', () => {
  it.each([0, AN_HOUR_MS, -AN_HOUR_MS])('is free at once, although its clock was %i ms ahead', async (aheadMs) => {
    const { lease } = aLease(await aLeaseLeftBy(DEAD, aheadMs));
    expect(await lease.acquire()).toBe(true);
    expect(lease.jobId).toBe('the job');
  });
});

describe('the lease of a worker that is not seen', () => {
  it.each([0, AN_HOUR_MS, -AN_HOUR_MS])(
    'is free once it was not renewed for its time, although its clock was %i ms ahead',
    async (aheadMs) => {
      const { clock, lease } = aLease(await aLeaseLeftBy(ELSEWHERE, aheadMs));
      for (let passedMs = 0; passedMs < LEASE_MS; passedMs += HEARTBEAT_MS) {
        expect(await lease.acquire()).toBe(false);
        await clock.advance(HEARTBEAT_MS);
      }
      expect(await lease.acquire()).toBe(true);
    },
  );

  it.each([AN_HOUR_MS, -AN_HOUR_MS])(
    'is kept as long as it is renewed, although the clock of whoever looks is set %i ms ahead',
    async (aheadMs) => {
      const storage = aMemoryStorage();
      const held = aLease(storage, new ManualClock(), ELSEWHERE);
      const { clock, lease } = aLease(storage);
      await held.lease.acquire();
      for (let passedMs = 0; passedMs < 3 * LEASE_MS; passedMs += HEARTBEAT_MS) {
        expect(await lease.acquire()).toBe(false);
        clock.set(aheadMs);
        await clock.advance(HEARTBEAT_MS);
        expect(await held.lease.renew()).toBe(true);
      }
    },
  );

  it('is kept through a failure of the storage that is shorter than its time, whatever its clock is set to', async () => {
    const storage = aMemoryStorage();
    const { clock, lease } = aLease(storage);
    await lease.acquire();
    storage.read = () => Promise.reject(new Error('gone'));
    clock.set(AN_HOUR_MS);
    await clock.advance(LEASE_MS - 1);
    expect(await lease.renew()).toBe(true);
    await clock.advance(1);
    expect(await lease.renew()).toBe(false);
  });
});

describe('the record of a lease', () => {
  it('that can not be read is replaced after the time of a lease', async () => {
    const storage = aMemoryStorage();
    await storage.write('job-leases', 'local', { holder: 7 }, undefined);
    const { clock, lease } = aLease(storage);
    expect(await lease.acquire()).toBe(false);
    await clock.advance(LEASE_MS);
    expect(await lease.acquire()).toBe(true);
    expect(await lease.renew()).toBe(true);
  });
});
