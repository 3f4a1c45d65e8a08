import pg from 'pg';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Database, type DatabaseOptions, type PostgresSource, postgresStorage } from '../../src/postgres/index.js';
import { publish, published } from './machines.js';
import { describeWithPostgres, PASSWORD } from './private-server.js';

function aDatabase(source: PostgresSource, options?: DatabaseOptions): Database {
  const database = new Database(source, options);
  onTestFinished(() => database.close());
  return database;
}

describeWithPostgres('A database', (server) => {
  it('makes its schema once, however many come at the same time', async () => {
    const schema = server.newSchema();
    const databases = [1, 2, 3, 4].map(() => aDatabase(server.connectionString, { schema }));
    await Promise.all(databases.map((database) => database.ready()));
    expect(await server.sql(`SELECT version FROM ${schema}.identity`)).toEqual([{ version: 1 }]);
  });

  it('refuses a schema that a later release has changed', async () => {
    const schema = server.newSchema();
    await aDatabase(server.connectionString, { schema }).ready();
    await server.sql(`UPDATE ${schema}.identity SET version = 7`);
    const earlier = aDatabase(server.connectionString, { schema });
    await expect(earlier.ready()).rejects.toThrow(/has version 7.*knows versions up to 1/);
  });

  it('serves a user who may only read and write, once the tables are there', async () => {
    const schema = server.newSchema();
    await aDatabase(server.connectionString, { schema }).ready();
    await server.sql(`CREATE ROLE clerk LOGIN;
      GRANT USAGE ON SCHEMA ${schema} TO clerk;
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO clerk;
      GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} TO clerk`);
    const asClerk = server.connectionString.replace('//postgres:', '//clerk:');
    const storage = postgresStorage(asClerk, { schema });
    onTestFinished(() => storage.close());
    await storage.write('jobs', 'a', 1, undefined);
    await publish(storage, 'm', { 'model.bin': 'weights' });
    expect(await published(storage, 'm')).toEqual({ 'model.bin': 'weights' });
  });

  it('undoes a transaction that fails', async () => {
    const database = aDatabase(server.connectionString, { schema: server.newSchema() });
    await database.ready();
    const failing = database.transaction(async (query) => {
      await query(`INSERT INTO ${database.table('records')} (collection, key, value) VALUES ('a', 'k', '1')`);
      throw new Error('no further');
    });
    await expect(failing).rejects.toThrow('no further');
    expect(await database.query(`SELECT 1 FROM ${database.table('records')}`)).toEqual([]);
  });

  it('hears what is notified on its channel, also after the server was restarted', async () => {
    const schema = server.newSchema();
    const [listening, telling] = [
      aDatabase(server.connectionString, { schema }),
      aDatabase(server.connectionString, { schema }),
    ];
    const heard = vi.fn();
    const connected = vi.fn();
    const channel = listening.channel('news');
    listening.listen(channel, { heard, connected });
    await vi.waitFor(() => expect(connected).toHaveBeenCalledTimes(1), 10_000);
    await telling.query('SELECT pg_notify($1, $2)', [channel, 'first']);
    await vi.waitFor(() => expect(heard).toHaveBeenLastCalledWith('first'), 10_000);

    await server.stop('SIGQUIT');
    await expect(telling.query('SELECT 1')).rejects.toThrow();
    await server.start();
    await vi.waitFor(() => expect(connected).toHaveBeenCalledTimes(2), 10_000);
    await telling.query('SELECT pg_notify($1, $2)', [channel, 'second']);
    await vi.waitFor(() => expect(heard).toHaveBeenLastCalledWith('second'), 10_000);
  });

  it('works on a pool that was given, and leaves it open', async () => {
    const pool = new pg.Pool({ connectionString: server.connectionString });
    onTestFinished(() => pool.end());
    const database = new Database(pool, { schema: server.newSchema() });
    await database.ready();
    await database.close();
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  it('never tells the password where it fails', async () => {
    const strings = [
      `postgres://postgres:${PASSWORD}@127.0.0.1:1/postgres`,
      `postgres://postgres:${PASSWORD}@no host/postgres`,
      `mysql://postgres:${PASSWORD}@127.0.0.1/postgres`,
    ];
    for (const source of strings) {
      const failing = async () => aDatabase(source).ready();
      const thrown: unknown = await failing().then(
        () => undefined,
        (reason) => reason,
      );
      expect(thrown).toBeInstanceOf(Error);
      expect(JSON.stringify(thrown, Object.getOwnPropertyNames(thrown))).not.toContain(PASSWORD);
    }
  });
});
