import { readdir, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { isStagingLost } from '../../src/storage/index.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { aMachine, contentOf, machines, publish, published, stage } from './machines.js';
import { describeWithPostgres, type PrivateServer } from './private-server.js';

/** Rows of the tables that hold folders. */
async function rowsOf(server: PrivateServer, schema: string) {
  const [counts] = await server.sql(`SELECT
    (SELECT count(*)::int FROM ${schema}.folders) AS folders, (SELECT count(*)::int FROM ${schema}.files) AS files,
    (SELECT count(*)::int FROM ${schema}.chunks) AS chunks, (SELECT count(*)::int FROM ${schema}.stages) AS stages`);
  return counts;
}

describeWithPostgres('a folder that is staged', (server) => {
  it('is found on another machine as it was saved, with the times of its files', async () => {
    const { one, other } = machines(server);
    const directory = await stage(one, 'm', { 'work/checkpoint.bin': 'epoch 1', 'a b.txt': '' });
    const written = new Date('2026-01-02T03:04:05.500Z');
    await utimes(join(directory, 'work/checkpoint.bin'), written, written);
    await one.saveStaged?.('m');
    await stage(one, 'm', { 'work/checkpoint.bin': 'epoch 2, which is not saved' });

    const found = await other.stageFolder('m');
    expect(await contentOf(found)).toEqual({ 'work/checkpoint.bin': 'epoch 1', 'a b.txt': '' });
    expect(Math.floor((await stat(join(found, 'work/checkpoint.bin'))).mtimeMs)).toBe(written.getTime());
  });

  it('leaves nothing on a machine that can not fetch it', async () => {
    const { schema, one } = machines(server);
    const cache = temporaryDirectory();
    const other = aMachine(server, { schema, cache });
    await stage(one, 'm', { 'checkpoint.bin': 'epoch 1' });
    await one.saveStaged?.('m');
    await server.sql(`UPDATE ${schema}.chunks SET bytes = 'of another file'`);
    await expect(other.stageFolder('m')).rejects.toThrow('m');
    const files = await readdir(cache, { recursive: true, withFileTypes: true });
    expect(files.filter(({ parentPath }) => parentPath.endsWith('staging'))).toEqual([]);
  });

  it('belongs to the machine that staged it last: an earlier one neither saves nor publishes it', async () => {
    const { one, other } = machines(server);
    await stage(one, 'm', { 'model.bin': 'of the one that was cut off' });
    await stage(other, 'm', { 'model.bin': 'of its successor' });
    await expect(one.saveStaged?.('m')).rejects.toSatisfy(isStagingLost);
    await expect(one.publishFolder('m')).rejects.toSatisfy(isStagingLost);
    expect(await published(one, 'm')).toBeUndefined();

    await other.publishFolder('m');
    await expect(one.publishFolder('m')).rejects.toThrow('m');
    for (const storage of [one, other]) {
      expect(await published(storage, 'm')).toEqual({ 'model.bin': 'of its successor' });
    }
  });

  it('is not published by who was sending it when another machine took over', async () => {
    const { schema, one, other } = machines(server);
    await stage(one, 'm', { 'model.bin': 'late' });
    const release = await holdChunks(server, schema);
    const late = one.publishFolder('m').catch((thrown: unknown) => thrown);
    await untilSomebodyWaits(server);
    await other.stageFolder('m');
    await other.publishFolder('m'); // without files, so that it needs no chunks
    await release();
    expect(await late).toHaveProperty('message', expect.stringContaining('folder m'));
    expect(await published(one, 'm')).toEqual({});
    await other.removeFolder('m');
    expect(await rowsOf(server, schema)).toEqual({ folders: 0, files: 0, chunks: 0, stages: 0 });
  });

  it('can be taken back by staging it again', async () => {
    const { one, other } = machines(server);
    await stage(one, 'm', { 'a.txt': 'first' });
    await stage(other, 'm', { 'b.txt': 'second' });
    await other.saveStaged?.('m');
    expect(await contentOf(await one.stageFolder('m'))).toEqual({ 'b.txt': 'second' });
    await one.publishFolder('m');
    await expect(other.publishFolder('m')).rejects.toThrow('folder m');
    expect(await published(other, 'm')).toEqual({ 'b.txt': 'second' });
  });

  it('stays with a successor when an earlier machine discards its own', async () => {
    const { one, other } = machines(server);
    await stage(one, 'm', { 'a.txt': 'first' });
    await stage(other, 'm', { 'b.txt': 'second' });
    await one.discardStaged('m');
    await other.publishFolder('m');
    expect(await published(one, 'm')).toEqual({ 'b.txt': 'second' });
  });

  it('sends only what has changed since it was saved', async () => {
    const { schema, one } = machines(server);
    const rows = () => server.sql(`SELECT path, file FROM ${schema}.folder_files ORDER BY path`).then((files) => files);
    const directory = await stage(one, 'm', { 'data.zip': 'large', 'checkpoint.bin': 'epoch 1' });
    await one.saveStaged?.('m');
    const [checkpoint, data] = await rows();
    await writeFile(join(directory, 'checkpoint.bin'), 'epoch 2');
    await one.saveStaged?.('m');
    const [nextCheckpoint, sameData] = await rows();
    expect(sameData).toEqual(data);
    expect(nextCheckpoint?.file).not.toBe(checkpoint?.file);
    expect(await rowsOf(server, schema)).toEqual({ folders: 1, files: 2, chunks: 2, stages: 1 });
  });

  it('leaves nothing behind once it is published, replaced and removed', async () => {
    const { schema, one, other } = machines(server);
    for (const round of ['1', '2']) {
      await stage(one, 'm', { 'work/checkpoint.bin': `half of ${round}`, 'model.bin': round });
      await one.saveStaged?.('m');
      await publish(one, 'm', { 'model.bin': round });
    }
    await stage(other, 'm', { 'model.bin': '3' });
    await other.saveStaged?.('m');
    await other.removeFolder('m');
    expect(await rowsOf(server, schema)).toEqual({ folders: 0, files: 0, chunks: 0, stages: 0 });
  });
});

/** Holds up everybody who sends a chunk. @returns what lets them go on. */
async function holdChunks(server: PrivateServer, schema: string): Promise<() => Promise<void>> {
  await server.sql(`
    CREATE FUNCTION ${schema}.held() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NEW; END';
    CREATE TRIGGER held BEFORE INSERT ON ${schema}.chunks FOR EACH ROW EXECUTE FUNCTION ${schema}.held()`);
  const client = new pg.Client({ connectionString: server.connectionString });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query('SELECT pg_advisory_lock(1)');
  return async () => {
    await client.query('SELECT pg_advisory_unlock(1)');
  };
}

async function untilSomebodyWaits(server: PrivateServer): Promise<void> {
  while ((await server.sql('SELECT FROM pg_locks WHERE NOT granted')).length === 0);
}
