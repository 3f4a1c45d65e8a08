import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { isOrchardError, type OrchardError } from '../../src/contract/errors.js';
import { JobRunner, type SharedJobQueue, Trainer } from '../../src/jobs/index.js';
import { Database, postgresStorage } from '../../src/postgres/index.js';
import { QUEUE_TIMING, QueueOnPostgres } from '../../src/postgres/postgres-queue.js';
import type { Storage } from '../../src/storage/index.js';
import { FakeHost, type FakeRun } from '../jobs/fake-host.js';
import { aRequest } from '../jobs/request.js';
import { CuttableProxy } from '../support/cuttable-proxy.js';
import { resultOf } from '../support/outcomes.js';
import { JobHistory, overlaps } from './job-history.js';
import { describeWithPostgres, PASSWORD, type PrivateServer } from './private-server.js';
import { SHORT } from './short-queue.js';

/**
 * Trainers whose database is restarted, or whose network is cut. `OUTAGE_MS` cuts it for so long under the leases of
 * every day (60,000 in npm run test:cluster); by default for some seconds under short ones.
 */

const OUTAGE_MS = Number(process.env.OUTAGE_MS ?? 2 * SHORT.leaseMs);
const TIMING = process.env.OUTAGE_MS === undefined ? SHORT : QUEUE_TIMING;

interface Place {
  readonly storage: Storage;
  readonly queue: SharedJobQueue;
}

/** A process's own storage and queue, at a port of the server or of a proxy before it. */
function aPlace(port: number, schema: string): Place {
  const connectionString = `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`;
  const storage = postgresStorage(connectionString, { schema });
  const queue = new QueueOnPostgres(new Database(connectionString, { schema }), TIMING);
  onTestFinished(async () => {
    await queue.close();
    await storage.close();
  });
  return { storage, queue };
}

function aRunner(place: Place, atOnce = 1): FakeHost {
  const host = new FakeHost();
  const runner = new JobRunner({ ...place, host, atOnce });
  onTestFinished(() => runner.close());
  return host;
}

function aCreator(place: Place, app_id: string): Trainer {
  const trainer = new Trainer({ ...place, account: { app_id, tier: 'basic' }, runsJobs: false });
  onTestFinished(() => trainer.close());
  return trainer;
}

async function aHistory(server: PrivateServer, schema: string, { storage }: Place): Promise<JobHistory> {
  await storage.listKeys('jobs');
  const history = new JobHistory(server, schema);
  await history.begin();
  return history;
}

async function untilReady(history: JobHistory, ids: readonly string[]): Promise<void> {
  for (;;) {
    const jobs = await history.jobs();
    expect(jobs.filter(({ status }) => status === 'ERROR')).toEqual([]);
    const ready = jobs.filter(({ status }) => status === 'READY').map(({ id }) => id);
    if (ids.every((id) => ready.includes(id))) return;
    await delay(250); // each look is a connection of its own
  }
}

/** Finishes all runs as they come. */
async function finishAll(host: FakeHost, each: (run: FakeRun) => void = () => undefined): Promise<never> {
  for (;;) {
    const run = await host.nextRun();
    each(run);
    run.emit({ type: 'warnings', warnings: [] });
    await delay(30);
    run.finish().catch(() => undefined); // its folder is gone, as it was stopped
  }
}

describeWithPostgres('a trainer whose network is cut', (server) => {
  it('loses its job to another, changes nothing when it is back, and goes on', {
    timeout: 240_000,
  }, async () => {
    const schema = server.newSchema();
    const proxy = await CuttableProxy.listen(server.port);
    onTestFinished(() => proxy.close());
    const [direct, cutOff] = [aPlace(server.port, schema), aPlace(proxy.port, schema)];
    const history = await aHistory(server, schema, direct);
    const creator = aCreator(direct, 'a');
    const late = aRunner(cutOff);
    const { id } = await resultOf(creator.createTrainingJob(aRequest));
    const run = await late.nextRun();
    const other = aRunner(direct);
    const { id: next } = await resultOf(creator.createTrainingJob(aRequest));

    const mending = delay(OUTAGE_MS);
    proxy.cut();
    const taken = await other.nextRun();
    expect(taken.spec.id).toBe(id);
    expect(run.options.signal.aborted).toBe(true); // before the other began
    await taken.finish();
    const following = await other.nextRun();
    expect(following.spec.id).toBe(next);
    await mending;
    proxy.mend();
    await following.finish();
    await untilReady(history, [id, next]);

    const busy = await resultOf(aCreator(direct, 'b').createTrainingJob(aRequest));
    const last = await resultOf(aCreator(direct, 'c').createTrainingJob(aRequest));
    for (const host of [late, other]) await (await host.nextRun()).finish();
    await untilReady(history, [busy.id, last.id]);
    expect([...(await history.timesReady()).values()]).toEqual([1, 1, 1, 1]);
    expect(overlaps(await history.runs())).toEqual([]);
  });

  it('goes on where it was, if the cut is shorter than the lease', async () => {
    const schema = server.newSchema();
    const proxy = await CuttableProxy.listen(server.port);
    onTestFinished(() => proxy.close());
    const [direct, cutOff] = [aPlace(server.port, schema), aPlace(proxy.port, schema)];
    const history = await aHistory(server, schema, direct);
    const host = aRunner(cutOff);
    const { id } = await resultOf(aCreator(direct, 'a').createTrainingJob(aRequest));
    const run = await host.nextRun();
    proxy.cut();
    run.emit({ type: 'warnings', warnings: [] });
    await delay(TIMING.heartbeatMs * 2);
    proxy.mend();
    await run.finish();
    await untilReady(history, [id]);
    expect(host.runs).toHaveLength(1);
  });
});

describeWithPostgres('a database that is restarted under load', (server) => {
  it('loses and repeats no job, and makes calls fail with typed errors only', {
    timeout: 240_000,
  }, async () => {
    const schema = server.newSchema();
    const places = [aPlace(server.port, schema), aPlace(server.port, schema), aPlace(server.port, schema)];
    const [first = aPlace(server.port, schema)] = places;
    const history = await aHistory(server, schema, first);
    for (const place of places) void finishAll(aRunner(place, 2));
    const creators = ['a', 'b', 'c', 'd'].map((app_id) => aCreator(first, app_id));
    const created: string[] = [];
    const refused: OrchardError[] = [];
    let isOver = false;
    const creating = creators.map(async (creator) => {
      while (!isOver) {
        const job = await creator.createTrainingJob(aRequest);
        if (job.isOk()) created.push(job.value.id);
        else refused.push(job.error);
        await delay(400);
      }
    });
    for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
      await delay(1_500);
      await server.stop(signal);
      await delay(500);
      await server.start();
    }
    await delay(1_000);
    isOver = true;
    await Promise.all(creating);
    expect(created.length).toBeGreaterThan(0);
    await untilReady(history, created);
    const times = await history.timesReady();
    expect(created.filter((id) => times.get(id) !== 1)).toEqual([]);
    expect(overlaps(await history.runs())).toEqual([]);
    expect(refused.length).toBeGreaterThan(0);
    const untyped = refused.filter(
      (error) => !isOrchardError(error) || error.code !== 'storage' || !error.isUnavailable,
    );
    expect(untyped.map(({ message }) => message)).toEqual([]);
  });
});
