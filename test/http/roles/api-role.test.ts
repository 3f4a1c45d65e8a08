import { expect, it } from 'vitest';
import { postgresStorage } from '../../../src/postgres/index.js';
import { aRequest } from '../../jobs/request.js';
import { describeWithPostgres, PASSWORD } from '../../postgres/private-server.js';
import { aReadyModelIn } from '../../support/ready-model.js';
import { acme, aServiceProcess, boss, other } from './service-processes.js';

/** Processes that answer requests over one database. */

/** On a machine that is busy with other tests. */
const patient = { timeout: 60_000, interval: 50 };
const models = '/trainer/language/models';
const jobs = '/trainer/language/training-jobs';
const newJob = { ...aRequest, dataset_url: 'http://127.0.0.1:9/reviews.zip' };

describeWithPostgres('processes with the role api over one database', (server) => {
  const aDatabase = () => ({ connectionString: server.connectionString, schema: server.newSchema() });
  const api = ['--role', 'api'];

  /** Two processes, told the same. */
  async function twoProcesses(...args: string[]) {
    const database = aDatabase();
    const start = () => aServiceProcess(database, [...api, ...args]);
    const [first, second] = await Promise.all([start(), start()]);
    return { database, first, second };
  }

  it('hold an account to one rate together', async () => {
    const { first, second } = await twoProcesses('--requests-per-minute', '10');
    const asked = Array.from({ length: 24 }, (_, call) => (call % 2 === 0 ? first : second).ask('GET', models));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(14);
    expect((await second.ask('GET', models, { key: other })).status).toBe(200);
  });

  it('hold an account to one quota together, and an address to one number of wrong keys', async () => {
    const database = aDatabase();
    const storage = postgresStorage(database.connectionString, { schema: database.schema });
    const id = await aReadyModelIn(storage, 'acme');
    await storage.close();
    const args = [...api, '--quota', '3/month', '--wrong-keys-per-minute', '2'];
    const processes = await Promise.all([aServiceProcess(database, args), aServiceProcess(database, args)]);
    const statuses: number[] = [];
    for (const { ask } of [...processes, ...processes]) {
      statuses.push((await ask('POST', `/predictor/language/model/${id}`, { body: { query: 'a' } })).status);
    }
    expect(statuses).toEqual([200, 200, 200, 429]);
    const wrong = { key: { apiKey: 'guess' } };
    for (const { ask } of processes) expect((await ask('GET', models, wrong)).status).toBe(401);
    for (const { ask } of processes) {
      await expect.poll(async () => (await ask('GET', models)).status, patient).toBe(429);
    }
  });

  it('create one job for a request that both are sent with one idempotency key', async () => {
    const { first, second } = await twoProcesses();
    const headers = {
      'x-api-key': acme.apiKey,
      'content-type': 'application/json',
      'idempotency-key': 'this one',
    };
    const create = async ({ url }: { url: string }) => {
      const response = await fetch(url + jobs, { method: 'POST', headers, body: JSON.stringify(newJob) });
      return JSON.parse(await response.text()).id;
    };
    const ids = await Promise.all([first, second, first, second].map(create));
    expect(new Set(ids).size).toBe(1);
    expect((await second.ask('GET', jobs)).body.data).toHaveLength(1);
  });

  it('make a job of an upload that another of them has taken', async () => {
    const { first, second } = await twoProcesses();
    const zip = new Blob([Buffer.from('PK\x03\x04 and so on')]);
    const sent = await first.ask('POST', '/page/uploads', { type: 'application/zip', body: zip });
    expect(sent.status).toBe(200);
    const { model_config } = aRequest;
    const request = { upload: sent.body.upload, model_config };
    expect((await second.ask('POST', '/page/training-jobs', { body: request })).status).toBe(200);
    expect((await first.ask('POST', '/page/training-jobs', { body: request })).status).toBe(422);
  });

  it('erase an account from the whole database, its counts and uploads included', async () => {
    const { first, second, database } = await twoProcesses(...['--requests-per-minute', '100', '--quota', '100/day']);
    await first.ask('POST', jobs, { body: newJob });
    const zip = new Blob([Buffer.from('PK\x03\x04 and so on')]);
    await first.ask('POST', '/page/uploads', { type: 'application/zip', body: zip });
    await second.ask('GET', models, { key: other });
    const erased = await second.ask('DELETE', '/operator/accounts/acme', { key: boss });
    expect(erased).toMatchObject({ status: 200, body: { data: { app_id: 'acme', uploads: 1 } } });
    expect(erased.body.data.job_ids).toHaveLength(1);
    const tables = await server.sql(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = $1`,
      [database.schema],
    );
    expect(tables.length).toBeGreaterThan(5);
    for (const { name } of tables) {
      const rows = await server.sql(`SELECT t::text AS row FROM ${database.schema}."${name}" t`);
      const told = rows.filter(({ row }) => /acme/.test(String(row)));
      expect({ name, told }).toEqual({ name, told: [] });
    }
  });

  it('answer 503 while the database restarts, and say so at /ready; then go on by themselves', async () => {
    const { first, second } = await twoProcesses('--requests-per-minute', '100000');
    const paths = [models, jobs];
    const seen = new Map<number, number>();
    let isOver = false;
    const load = [first, second, first, second].map(async ({ ask }, client) => {
      while (!isOver) {
        const { status, headers, body } = await ask('GET', paths[client % 2] ?? models);
        seen.set(status, (seen.get(status) ?? 0) + 1);
        if (status === 200) continue;
        expect(body.detail).toEqual([{ loc: [], msg: expect.any(String), type: 'unavailable' }]);
        expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
        expect(JSON.stringify(body)).not.toMatch(/postgres|127\.0\.0\.1/);
      }
    });
    await expect.poll(() => seen.get(200) ?? 0, patient).toBeGreaterThan(20);
    await server.stop();
    await expect.poll(() => seen.get(503) ?? 0, patient).toBeGreaterThan(5);
    for (const { ask } of [first, second]) {
      await expect.poll(async () => (await ask('GET', '/ready')).status, patient).toBe(503);
      const { body } = await ask('GET', '/ready');
      expect(body.detail).toEqual([{ loc: [], msg: 'the database does not answer', type: 'not_ready' }]);
      expect((await ask('GET', '/health')).status).toBe(200);
    }
    await server.start();
    for (const { ask } of [first, second]) {
      await expect.poll(async () => (await ask('GET', '/ready')).status, patient).toBe(200);
      expect((await ask('GET', models)).status).toBe(200);
    }
    isOver = true;
    await Promise.all(load);
    expect([...seen.keys()].sort()).toEqual([200, 503]);
    for (const { child, stop, log } of [first, second]) {
      expect(child.exitCode).toBeNull();
      expect(await stop()).toBe(0);
      expect(log.join('')).not.toContain(PASSWORD);
    }
  });

  it('start without the database, and answer once it is there', async () => {
    const database = aDatabase();
    await server.stop();
    const { ask, said, stop } = await aServiceProcess(database, api);
    expect(said.join('\n')).toMatch(
      /the database 127\.0\.0\.1:\d+\/postgres can't be opened: .*each request tries again/,
    );
    expect(said.join('\n')).not.toContain(PASSWORD);
    expect((await ask('GET', '/ready')).status).toBe(503);
    expect((await ask('GET', models)).status).toBe(503);
    await server.start();
    await expect.poll(async () => (await ask('GET', models)).status, patient).toBe(200);
    expect(await stop()).toBe(0);
  });
});
