import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { copyStorage, JobRepository } from '../../src/jobs/index.js';
import { fileStorage, memoryStorage, type Storage } from '../../src/storage/index.js';
import { aTrainer, createJob, errorOf } from '../jobs/builders.js';
import { resultOf } from '../support/outcomes.js';
import { aReadyModelIn } from '../support/ready-model.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { aMachine, contentOf } from './machines.js';
import { describeWithPostgres, PASSWORD } from './private-server.js';

const command = fileURLToPath(new URL('../../dist/orchard.js', import.meta.url));

/** A directory with a READY model, a job under way with a checkpoint, and one that waits. */
async function aDirectoryInUse() {
  const data = temporaryDirectory();
  const storage = fileStorage(data);
  const ready = await aReadyModelIn(storage, 'acme');
  const { trainer, host } = aTrainer({ storage });
  const running = await createJob(trainer);
  const run = await host.nextRun();
  await writeFile(join(run.spec.directory, 'checkpoint.bin'), 'half way');
  const waiting = await createJob(trainer);
  await trainer.close();
  return { data, storage, ready, running, waiting };
}

async function recordsOf(storage: Storage): Promise<unknown[]> {
  const collections = ['jobs', 'job-index', 'model-uses'];
  const listings = collections.map((name) => storage.list(name, { limit: Number.POSITIVE_INFINITY }));
  return (await Promise.all(listings)).flat().map(({ key, value }) => [key, value]);
}

describeWithPostgres('copyStorage', (server) => {
  it('copies records, models and checkpoints, which are then the same to the byte', async () => {
    const { storage: from, ready, running } = await aDirectoryInUse();
    const to = aMachine(server, { schema: server.newSchema() });
    const copied = await resultOf(copyStorage({ from, to }));
    expect(copied).toMatchObject({ accounts: 2, jobs: 3, unfinished: 2, folders: 2 });
    expect(await recordsOf(to)).toEqual(await recordsOf(from));
    const [source, copy] = [await from.openFolder(ready), await to.openFolder(ready)];
    expect(await contentOf(copy ?? '')).toEqual(await contentOf(source ?? ''));
    expect(await contentOf(await to.stageFolder(running))).toEqual({ 'checkpoint.bin': 'half way' });
  });

  it('goes back to a directory too', async () => {
    const { storage: from } = await aDirectoryInUse();
    const between = aMachine(server, { schema: server.newSchema() });
    const there = await resultOf(copyStorage({ from, to: between }));
    const back = await resultOf(copyStorage({ from: between, to: fileStorage(temporaryDirectory()) }));
    expect(back).toEqual(there);
  });

  it('refuses to copy over what is there', async () => {
    const from = memoryStorage();
    onTestFinished(() => from.close());
    const { storage: to } = await aDirectoryInUse();
    expect((await errorOf(copyStorage({ from, to }))).message).toMatch(/already has records/);
  });

  it('finds what the database has changed', async () => {
    const { storage: from } = await aDirectoryInUse();
    const schema = server.newSchema();
    const to = aMachine(server, { schema });
    await to.read('jobs', 'x'); // the tables are there
    await server.sql(`
      CREATE FUNCTION ${schema}.spoil() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN NEW.bytes := set_byte(NEW.bytes, 0, get_byte(NEW.bytes, 0) # 1); RETURN NEW; END';
      CREATE TRIGGER spoil BEFORE INSERT ON ${schema}.chunks FOR EACH ROW
        WHEN (length(NEW.bytes) > 0) EXECUTE FUNCTION ${schema}.spoil()`);
    expect((await errorOf(copyStorage({ from, to }))).message).toMatch(/differs from the original/);
  });

  it('finds what was written meanwhile', async () => {
    const { storage: from, ready } = await aDirectoryInUse();
    const to = aMachine(server, { schema: server.newSchema() });
    const { publishFolder } = to;
    to.publishFolder = async (key) => {
      await publishFolder.call(to, key);
      const { write } = to;
      to.write = async (...args) => {
        const version = await write.apply(to, args);
        if (args[0] === 'jobs' && args[1].endsWith(ready)) {
          await new JobRepository(from, 'acme').update(ready, (job) => ({ ...job, status: 'DELETED' }));
        }
        return version;
      };
    };
    expect((await errorOf(copyStorage({ from, to }))).message).toMatch(/wrote to the storage during the copy/);
  });

  it('is a command, after which the jobs go on from the database', async () => {
    const { data, waiting, running } = await aDirectoryInUse();
    const schema = server.newSchema();
    const args = ['copy', '--data', data, '--database', server.connectionString, '--schema', schema];
    const { stdout } = await promisify(execFile)(process.execPath, [command, ...args]);
    expect(stdout).toMatch(/2 accounts, 3 jobs and their models, [\d,]+ records, 2 folders/);
    expect(stdout).toMatch(/2 unfinished jobs will continue/);
    const queued = await server.sql(`SELECT id::text FROM ${schema}.queue_jobs`);
    expect(queued.map(({ id }) => id).sort()).toEqual([running, waiting].sort());
    const again = promisify(execFile)(process.execPath, [command, ...args]);
    const refused: { readonly stderr?: string } = await again.catch((thrown) => thrown);
    expect(refused.stderr).toContain('already has records');
    expect(refused.stderr).not.toContain(PASSWORD);
  });
});
