import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { JobRunner, Trainer } from '../../src/jobs/index.js';
import { Database, postgresStorage } from '../../src/postgres/index.js';
import { QueueOnPostgres } from '../../src/postgres/postgres-queue.js';
import { FakeHost, type FakeRun } from '../jobs/fake-host.js';
import { aRequest } from '../jobs/request.js';
import { CuttableProxy } from '../support/cuttable-proxy.js';
import { resultOf } from '../support/outcomes.js';
import { describeWithPostgres, PASSWORD } from './private-server.js';
import { SHORT } from './short-queue.js';

const CHECKPOINT = join('work', 'checkpoint.safetensors');

/** One machine: a directory of its own for what it trains. */
function aMachine(port: number, schema: string) {
  const connectionString = `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`;
  const storage = postgresStorage(connectionString, { schema });
  const queue = new QueueOnPostgres(new Database(connectionString, { schema }), SHORT);
  onTestFinished(async () => {
    await queue.close();
    await storage.close();
  });
  return { storage, queue };
}

function aRunner(place: ReturnType<typeof aMachine>) {
  const host = new FakeHost();
  const runner = new JobRunner({ ...place, host });
  onTestFinished(() => runner.close());
  return { host, runner };
}

async function writeCheckpoint(run: FakeRun, content: string): Promise<void> {
  const file = join(run.spec.directory, CHECKPOINT);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
  run.emit({ type: 'checkpoint', epoch: 1 });
}

describeWithPostgres('a job on PostgreSQL', (server) => {
  it('goes on from its last checkpoint on another machine, when its own is cut off', async () => {
    const schema = server.newSchema();
    const proxy = await CuttableProxy.listen(server.port);
    onTestFinished(() => proxy.close());
    const [direct, cutOff] = [aMachine(server.port, schema), aMachine(proxy.port, schema)];
    const { host } = aRunner(cutOff);
    await using trainer = new Trainer({ ...direct, runsJobs: false });
    const { id } = await resultOf(trainer.createTrainingJob(aRequest));
    const run = await host.nextRun();
    await writeCheckpoint(run, 'after an epoch');
    await untilStored(id, schema);
    proxy.cut();
    await writeCheckpoint(run, 'after two, which is never stored');
    const { host: other } = aRunner(direct);
    const taken = await other.nextRun();
    expect(taken.spec.directory).not.toBe(run.spec.directory);
    expect(await readFile(join(taken.spec.directory, CHECKPOINT), 'utf8')).toBe('after an epoch');
    await taken.finish();
    proxy.mend();
    await untilStatus(id, 'READY', schema);
  });

  it('goes on at its last step on another machine, when its own is stopped in good order', async () => {
    const schema = server.newSchema();
    const [one, other] = [aMachine(server.port, schema), aMachine(server.port, schema)];
    const { host, runner } = aRunner(one);
    host.obeys = false;
    await using trainer = new Trainer({ ...other, runsJobs: false });
    await resultOf(trainer.createTrainingJob(aRequest));
    const run = await host.nextRun();
    const closing = runner.close();
    await writeCheckpoint(run, 'at the last step');
    run.obey();
    await closing;
    const taken = await aRunner(other).host.nextRun();
    expect(await readFile(join(taken.spec.directory, CHECKPOINT), 'utf8')).toBe('at the last step');
  });

  async function untilStored(id: string, schema: string): Promise<void> {
    const staged = `SELECT 1 FROM ${schema}.folders WHERE key = $1 AND kind = 'staged'`;
    while ((await server.sql(staged, [Buffer.from(id)])).length === 0) await delay(50);
  }

  async function untilStatus(id: string, status: string, schema: string): Promise<void> {
    const job = `SELECT 1 FROM ${schema}.records WHERE value::jsonb->>'id' = $1 AND value::jsonb->>'status' = $2`;
    while ((await server.sql(job, [id, status])).length === 0) await delay(50);
  }
});
