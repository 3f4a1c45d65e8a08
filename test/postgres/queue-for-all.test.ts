import { v7 as uuidV7 } from 'uuid';
import { expect, it } from 'vitest';
import type { JobLease, JobOutcome } from '../../src/jobs/index.js';
import type { QueueOnPostgres } from '../../src/postgres/postgres-queue.js';
import { describeWithPostgres, type PrivateServer } from './private-server.js';
import { ShortMedium } from './short-queue.js';

interface Handed {
  readonly app_id: string;
  readonly lease: JobLease;
  end(outcome: JobOutcome): void;
}

/** What workers were handed, in order. */
class Log {
  readonly all: Handed[] = [];
  #taken = 0;
  #wake: () => void = () => undefined;

  readonly handler = (app_id: string, lease: JobLease): Promise<JobOutcome> =>
    new Promise((resolve) => {
      this.all.push({ app_id, lease, end: resolve });
      lease.signal.addEventListener('abort', () => resolve('left'));
      this.#wake();
    });

  async next(): Promise<Handed> {
    for (;;) {
      const handed = this.all[this.#taken];
      if (handed !== undefined) {
        this.#taken += 1;
        return handed;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

const ids = new Map<string, string>();

/** Jobs such as `a1`: the first one of account a. */
function job(name: string) {
  const id = ids.get(name) ?? uuidV7();
  ids.set(name, id);
  return { app_id: name.slice(0, 1), id };
}

async function addAll(queue: QueueOnPostgres, ...names: string[]): Promise<void> {
  for (const name of names) await queue.add(job(name));
}

function names(log: Log): string[] {
  return log.all.map(({ lease }) => [...ids].find(([, id]) => id === lease.id)?.[0] ?? 'unknown');
}

async function aShort(server: PrivateServer): Promise<ShortMedium> {
  ids.clear();
  return new ShortMedium(server.connectionString, server.newSchema());
}

async function expectNothing(server: PrivateServer, schema: string): Promise<void> {
  for (const table of ['queue_accounts', 'queue_jobs'].map((name) => `${schema}.${name}`)) {
    expect(await server.sql(`SELECT * FROM ${table}`)).toEqual([]);
  }
}

describeWithPostgres('a worker for all accounts', (server) => {
  it('is handed the jobs of the accounts in turn, those of one account one at a time and the oldest first', async () => {
    const medium = await aShort(server);
    const queue = medium.open();
    await addAll(queue, 'a1', 'a2', 'a3', 'b1', 'c1', 'b2');
    const log = new Log();
    queue.workForAll(log.handler, { atOnce: 1 });
    for (let count = 0; count < 6; count += 1) (await log.next()).end('ended');
    expect(names(log)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
    await medium.close();
  });

  it('is held up by no account of which a job runs, however many wait there', async () => {
    const medium = await aShort(server);
    const [one, other] = [medium.open(), medium.open()];
    await addAll(one, 'a1', 'a2', 'a3', 'a4', 'b1', 'c1');
    const log = new Log();
    one.workForAll(log.handler, { atOnce: 1 });
    await log.next();
    other.workForAll(log.handler, { atOnce: 2 });
    await log.next();
    await log.next();
    await medium.elapse();
    expect(names(log).sort()).toEqual(['a1', 'b1', 'c1']);
    await medium.close();
  });

  it('is handed as many jobs at once as it asked for, and no more', async () => {
    const medium = await aShort(server);
    const queue = medium.open();
    await addAll(queue, 'a1', 'b1', 'c1');
    const log = new Log();
    queue.workForAll(log.handler, { atOnce: 2 });
    const first = await log.next();
    await log.next();
    await medium.elapse();
    expect(log.all).toHaveLength(2);
    first.end('ended');
    await log.next();
    expect(names(log)).toEqual(['a1', 'b1', 'c1']);
    await medium.close();
  });

  it('is handed what a dead process ran before what waits', async () => {
    const medium = await aShort(server);
    const dying = medium.open();
    await addAll(dying, 'a1');
    const lost = new Log();
    dying.workForAll(lost.handler, { atOnce: 1 });
    await lost.next();
    const queue = medium.open();
    await medium.suspend(dying);
    await addAll(queue, 'a2');
    queue.work('z', async () => 'left'); // any worker looks after dead processes
    await medium.elapse();
    await addAll(queue, 'b1', 'c1');
    const log = new Log();
    queue.workForAll(log.handler, { atOnce: 1 });
    for (let count = 0; count < 4; count += 1) (await log.next()).end('ended');
    expect(names(log)).toEqual(['a1', 'b1', 'c1', 'a2']);
    await medium.close();
  });

  it('is handed what a dead process ran before what has waited for longer', async () => {
    const medium = await aShort(server);
    const dying = medium.open();
    await addAll(dying, 'a1');
    const lost = new Log();
    dying.workForAll(lost.handler, { atOnce: 1 });
    await lost.next();
    const queue = medium.open();
    await medium.suspend(dying);
    // Their accounts are free now, that of the dead process only when its lease ends.
    await addAll(queue, 'b1', 'c1');
    await medium.elapse();
    const log = new Log();
    queue.workForAll(log.handler, { atOnce: 1 });
    for (let count = 0; count < 3; count += 1) (await log.next()).end('ended');
    expect(names(log)).toEqual(['a1', 'b1', 'c1']);
    await medium.close();
  });

  it('shares the jobs of an account with a worker of that account alone', async () => {
    const medium = await aShort(server);
    const [one, other] = [medium.open(), medium.open()];
    const log = new Log();
    one.workForAll(log.handler, { atOnce: 4 });
    other.work('a', (lease) => log.handler('a', lease));
    await addAll(one, 'a1', 'a2', 'a3', 'a4');
    for (let count = 1; count <= 4; count += 1) {
      const { end } = await log.next();
      expect(log.all).toHaveLength(count);
      end('ended');
    }
    expect(names(log)).toEqual(['a1', 'a2', 'a3', 'a4']);
    await medium.close();
  });

  it('is handed the next job without a look at all accounts that wait', async () => {
    const schema = server.newSchema();
    const medium = new ShortMedium(server.connectionString, schema);
    await medium.open().ready();
    const accounts = `${schema}.queue_accounts`;
    await server.sql(`INSERT INTO ${accounts} (app_id) SELECT n FROM generate_series(1, 5000) AS n`);
    await server.sql('ANALYZE');
    const plan = await server.sql(
      `EXPLAIN SELECT app_id FROM ${accounts} WHERE free_from <= now()
       ORDER BY job_id IS NULL, free_from LIMIT 1 FOR UPDATE SKIP LOCKED`,
    );
    expect(JSON.stringify(plan)).toContain('queue_turns');
    expect(JSON.stringify(plan)).not.toContain('Sort');
    await medium.close();
  });

  it('leaves nothing of an account in the database when its jobs have ended', async () => {
    const schema = server.newSchema();
    const medium = new ShortMedium(server.connectionString, schema);
    ids.clear();
    const queue = medium.open();
    await addAll(queue, 'a1', 'a2', 'b1');
    const log = new Log();
    const worker = queue.workForAll(log.handler, { atOnce: 1 });
    (await log.next()).end('ended');
    await queue.cancel(job('a2'));
    (await log.next()).end('ended');
    await medium.elapse();
    await worker.close();
    await expectNothing(server, schema);
    await medium.close();
  });

  it('leaves nothing of an account whose jobs were cancelled before anybody took them', async () => {
    const schema = server.newSchema();
    const medium = new ShortMedium(server.connectionString, schema);
    ids.clear();
    const queue = medium.open();
    await addAll(queue, 'a1', 'a2');
    await queue.cancel(job('a1'));
    await queue.cancel(job('a2'));
    await expectNothing(server, schema);
    await medium.close();
  });
});
