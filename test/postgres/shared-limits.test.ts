import { expect, it, onTestFinished } from 'vitest';
import { Database, SharedLimits } from '../../src/postgres/index.js';
import { describeWithPostgres, PASSWORD } from './private-server.js';

/** Limits that several processes share through a database; each Database here is that of one process. */

const DAY_MS = 24 * 60 * 60_000;
const today = (ms: number) => {
  const name = new Date(ms).toISOString().slice(0, 10);
  return { name, endsAt: Date.parse(name) + DAY_MS };
};
const isRefused = { msBeforeNext: expect.any(Number) };
const outcome = (counting: Promise<unknown>) => counting.catch((thrown: unknown) => thrown);

describeWithPostgres('limits in a database', (server) => {
  function aProcess(schema: string): SharedLimits {
    const database = new Database(server.connectionString, { schema });
    onTestFinished(() => database.close());
    return new SharedLimits(database);
  }

  function twoProcesses(): readonly [SharedLimits, SharedLimits] {
    const schema = server.newSchema();
    return [aProcess(schema), aProcess(schema)];
  }

  it('hold for one account over all processes, also for requests at the same time', async () => {
    const limiters = twoProcesses().map((limits) => limits.perMinute(20));
    const calls = Array.from({ length: 60 }, (_, call) => limiters[call % 2]?.consume('acme'));
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(20);
    for (const each of outcomes) if (each.status === 'rejected') expect(each.reason).toMatchObject(isRefused);
    await limiters[0]?.consume('other');
  });

  it('count inference calls of a period over all processes, and give back what was refused', async () => {
    const [one, two] = twoProcesses();
    const [here, there] = [one.quota(10, today), two.quota(10, today)];
    await here.consume('acme', 6);
    expect(await outcome(there.consume('acme', 6))).toMatchObject(isRefused);
    await there.reward('acme', 6);
    await there.consume('acme', 4);
    expect(await outcome(here.consume('acme', 1))).toMatchObject(isRefused);
  });

  it('begin anew with the next period of the calendar, and tell when that is', async () => {
    const limits = aProcess(server.newSchema());
    let period = { name: '2026-11', endsAt: Date.now() + 40 * DAY_MS };
    const quota = limits.quota(1, () => period);
    await quota.consume('acme');
    // 40 days are more than a timer of Node reaches.
    expect(await outcome(quota.consume('acme'))).toMatchObject({
      msBeforeNext: expect.closeTo(40 * DAY_MS, -5),
    });
    period = { name: '2026-12', endsAt: Date.now() + 70 * DAY_MS };
    await quota.consume('acme');
  });

  it('count a trillion calls to the last one', async () => {
    const quota = aProcess(server.newSchema()).quota(1e12, today);
    await quota.consume('acme', 1e12 - 1);
    await quota.consume('acme');
    expect(await outcome(quota.consume('acme'))).toMatchObject(isRefused);
  });

  it('tell of wrong keys from an address that another process has counted, within a second or so', async () => {
    const [one, two] = twoProcesses();
    const [here, there] = [one.wrongKeys(2), two.wrongKeys(2)];
    expect(await there.get('203.0.113.7')).toBeNull();
    await here.consume('203.0.113.7');
    await here.consume('203.0.113.7');
    expect((await here.get('203.0.113.7'))?.remainingPoints).toBe(0);
    await expect.poll(async () => (await there.get('203.0.113.7'))?.remainingPoints, { timeout: 10_000 }).toBe(0);
  });

  it('keep nothing of an account that is forgotten, and everything of another', async () => {
    const schema = server.newSchema();
    const limits = aProcess(schema);
    const [rate, quota] = [limits.perMinute(100), limits.quota(100, today)];
    for (const account of ['a', 'a/b', 'ab']) await Promise.all([rate.consume(account), quota.consume(account)]);
    await limits.forget('a');
    const left = await server.sql(`SELECT key FROM ${schema}.rates UNION SELECT key FROM ${schema}.quotas`);
    const period = today(Date.now()).name;
    expect(left.map(({ key }) => key).sort()).toEqual([
      `quota:a%2Fb/${period}`,
      `quota:ab/${period}`,
      'requests:a/b',
      'requests:ab',
    ]);
  });

  it('let nothing pass while the database is away, say so in a typed error without the password, and go on after', async () => {
    const limits = aProcess(server.newSchema());
    const [rate, quota, keys] = [limits.perMinute(100), limits.quota(100, today), limits.wrongKeys(100)];
    await rate.consume('acme');
    await server.stop();
    for (const each of [rate.consume('acme'), quota.consume('acme'), keys.consume('::1'), keys.get('::2')]) {
      const failure = await outcome(each);
      expect(failure).toMatchObject({ code: 'storage', isUnavailable: true });
      expect(String(failure)).toMatch(/^StorageError: counting /);
      expect(String(failure)).not.toContain(PASSWORD);
    }
    await server.start();
    expect((await rate.consume('acme')).consumedPoints).toBe(2);
    await quota.consume('acme');
  });
});
