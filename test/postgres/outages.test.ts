import { inspect } from 'node:util';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { StorageError } from '../../src/contract/errors.js';
import { postgresStorage } from '../../src/postgres/index.js';
import { aMachine, machines, publish, published, stage } from './machines.js';
import { describeWithPostgres, PASSWORD } from './private-server.js';

describeWithPostgres('a server that is restarted', (server) => {
  it('fails each call meanwhile with a StorageError that names the record and no password', async () => {
    const { one } = machines(server);
    const version = await one.write('jobs', 'key-of-a-job', 1, undefined);
    await stage(one, 'key-of-a-job', { 'model.bin': 'weights' });
    await server.stop();
    const calls: [() => Promise<unknown>, RegExp][] = [
      [() => one.read('jobs', 'key-of-a-job'), /record jobs\/key-of-a-job can't be read/],
      [() => one.write('jobs', 'key-of-a-job', 2, version), /record jobs\/key-of-a-job can't be written/],
      [() => one.remove('jobs', 'key-of-a-job'), /record jobs\/key-of-a-job can't be removed/],
      [() => one.list('jobs'), /collection jobs can't be listed/],
      [() => one.stageFolder('key-of-a-job'), /folder key-of-a-job can't be staged/],
      [() => one.openFolder('key-of-a-job'), /folder key-of-a-job can't be opened/],
    ];
    for (const [call, message] of calls) {
      const thrown: unknown = await call().catch((error: unknown) => error);
      expect(thrown).toBeInstanceOf(StorageError);
      expect(thrown).toHaveProperty('message', expect.stringMatching(message));
      expect(inspect(thrown, { depth: 10, showHidden: true })).not.toContain(PASSWORD);
    }
    await server.start();
    expect(await one.read('jobs', 'key-of-a-job')).toEqual({ value: 1, version });
    await one.publishFolder('key-of-a-job');
    expect(await published(one, 'key-of-a-job')).toEqual({ 'model.bin': 'weights' });
  });

  it('still gets a folder that was being published', async () => {
    const { one, other } = machines(server);
    await publish(other, 'x', { 'model.bin': 'earlier' });
    const files = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`${n}.bin`, `${n}`.repeat(50_000)]));
    await stage(one, 'm', files);
    const publishing = one.publishFolder('m');
    await server.stop('SIGQUIT');
    await server.start();
    await publishing;
    expect(await published(other, 'm')).toEqual(files);
    expect(await published(other, 'x')).toEqual({ 'model.bin': 'earlier' });
  });

  it.each([
    ['are gone', 'DELETE FROM'],
    ['have given their numbers to others', 'UPDATE', "SET sha256 = 'of another file'"],
  ])('gets the files again that %s when the folder is shown', async (_, change, to = '') => {
    const schema = server.newSchema();
    const pool = new pg.Pool({ connectionString: server.connectionString });
    onTestFinished(() => pool.end());
    let isLost = false;
    pool.on('connect', (client) => {
      const query = client.query.bind(client);
      const losing = async (text: string, ...values: unknown[]) => {
        if (!isLost && /INSERT INTO .*folder_files/.test(text)) {
          isLost = true;
          await server.sql(`${change} ${schema}.files ${to}`);
        }
        return Reflect.apply(query, client, [text, ...values]);
      };
      Object.assign(client, { query: losing });
    });
    const storage = postgresStorage(pool, { schema });
    onTestFinished(() => storage.close());
    const files = { 'model.bin': 'weights', 'config.json': '{}' };
    await publish(storage, 'm', files);
    expect(isLost).toBe(true);
    expect(await published(aMachine(server, { schema }), 'm')).toEqual(files);
  });

  it('is connected to again by all connections, whatever they were doing', async () => {
    const { one } = machines(server);
    await Promise.all(Array.from({ length: 20 }, (_, n) => one.write('counters', `${n}`, n, undefined)));
    await server.stop('SIGQUIT');
    await server.start();
    const values = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => (await one.read('counters', `${n}`))?.value),
    );
    expect(values).toEqual(Array.from({ length: 20 }, (_, n) => n));
  });

  it('is asked for what it has at the first call that finds it, where it was down before', async () => {
    await server.stop();
    const storage = aMachine(server, { schema: server.newSchema() });
    await expect(storage.read('jobs', 'a')).rejects.toThrow(StorageError);
    await server.start();
    expect(await storage.read('jobs', 'a')).toBeUndefined();
  });
});
