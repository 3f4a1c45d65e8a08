import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { describeWithPostgres } from '../../postgres/private-server.js';
import { SMALL_VOCABULARY, sentimentRequest, temporaryFolder } from '../../public/sentiments.js';
import { acme, aServiceProcess, boss, type ServiceProcess } from './service-processes.js';

/** Processes that answer requests and processes that train, over one database, each as on a machine of its own. */

const jobs = '/trainer/language/training-jobs';
/** What is trained on in seconds. */
const quick = {
  batch_size: 8,
  num_epochs: 2,
  learning_rate: 1e-3,
  use_pretrained: false,
  language: SMALL_VOCABULARY,
};
const model_config = {
  name: 'sentiments',
  type: 'binary-text-classification',
  family: 'Papaya',
  size: 'mini',
} as const;
const query = { query: 'the phone works perfectly' };
/** On a machine that is busy with other tests. */
const TRAINING_MS = 240_000;
const patient = { timeout: 60_000, interval: 50 };
vi.setConfig({ testTimeout: 2 * TRAINING_MS });

/** A server that keeps those who ask for a dataset waiting until it is let go. */
async function aDatasetServer(zip: Buffer, { isHeld = false } = {}) {
  const held: ServerResponse[] = [];
  let asked = 0;
  const state = { isHeld };
  const server = createServer((_, response) => {
    asked += 1;
    if (state.isHeld) held.push(response);
    else response.end(zip);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    url: `http://127.0.0.1:${port}/sentiments.zip`,
    asked: () => asked,
    letGo() {
      state.isHeld = false;
    },
  };
}

describeWithPostgres('processes that train for processes that answer', (server) => {
  let zip: Buffer;
  beforeAll(async () => {
    const { dataset_url } = await sentimentRequest(await temporaryFolder());
    zip = await readFile(fileURLToPath(dataset_url));
  });
  const aDatabase = () => ({ connectionString: server.connectionString, schema: server.newSchema() });
  const create = async ({ ask }: ServiceProcess, dataset_url: string): Promise<string> => {
    const body = { dataset_url, model_config, training_config: quick };
    const created = await ask('POST', jobs, { body });
    expect(created.status).toBe(200);
    return created.body.id;
  };
  const statusOf = async ({ ask }: ServiceProcess, id: string) => (await ask('GET', `${jobs}/${id}`)).body.data.status;
  const isReady = (process: ServiceProcess, id: string) =>
    expect.poll(() => statusOf(process, id), { timeout: TRAINING_MS, interval: 50 }).toBe('READY');
  const answers = ({ ask }: ServiceProcess, id: string) =>
    expect
      .poll(async () => (await ask('POST', `/predictor/language/model/${id}`, { body: query })).status, {
        ...patient,
      })
      .toBe(200);

  it('train elsewhere what is created here, also after SIGTERM to a trainer, tell how it goes, and all answer then', async () => {
    const database = aDatabase();
    const [first, second, trainer] = await Promise.all([
      aServiceProcess(database, ['--role', 'api']),
      aServiceProcess(database, ['--role', 'api']),
      aServiceProcess(database, ['--role', 'trainer']),
    ]);
    const dataset = await aDatasetServer(zip, { isHeld: true });
    const id = await create(first, dataset.url);
    await expect.poll(() => statusOf(second, id), patient).toBe('RUNNING');
    const headers = { 'x-api-key': acme.apiKey, accept: 'text/event-stream' };
    const stream = await fetch(`${second.url}/page/training-jobs/${id}/events`, { headers });
    expect(stream.status).toBe(200);
    await expect.poll(dataset.asked, patient).toBeGreaterThan(0);
    expect(await trainer.stop()).toBe(0); // its job goes on with the next one, which gets the dataset
    expect(await statusOf(first, id)).toBe('RUNNING');
    dataset.letGo();
    await aServiceProcess(database, ['--role', 'trainer']);
    const [epochs, states] = [new Set<number>(), new Set<string>()];
    for await (const { data } of stream.body
      ?.pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream()) ?? []) {
      const { status, training_stats } = JSON.parse(data);
      states.add(status);
      epochs.add(training_stats.epoch);
    }
    expect([...states]).toEqual(['RUNNING', 'READY']);
    expect([...epochs].at(-1)).toBe(2);
    for (const each of [first, second]) {
      expect(await statusOf(each, id)).toBe('READY');
      await answers(each, id);
    }
  });

  it('go on where the trainer was that stopped in the middle of a training', async () => {
    const database = aDatabase();
    const api = await aServiceProcess(database, ['--role', 'api']);
    const trainer = await aServiceProcess(database, ['--role', 'trainer']);
    const { url } = await aDatasetServer(zip);
    const body = { dataset_url: url, model_config, training_config: { ...quick, num_epochs: 500 } };
    const { id } = (await api.ask('POST', jobs, { body })).body;
    const epochOf = async (): Promise<number> => (await api.ask('GET', `${jobs}/${id}`)).body.data.training_stats.epoch;
    const lasting = { timeout: TRAINING_MS, interval: 50 };
    await expect.poll(epochOf, lasting).toBeGreaterThan(2);
    expect(await trainer.stop()).toBe(0);
    const stoppedAt = await epochOf();
    await aServiceProcess(database, ['--role', 'trainer']);
    const seen: number[] = [];
    const next = async () => {
      seen.push(await epochOf());
      return seen.at(-1);
    };
    await expect.poll(next, lasting).toBeGreaterThan(stoppedAt);
    expect(Math.min(...seen)).toBe(stoppedAt);
    expect((await api.ask('DELETE', `${jobs}/${id}`)).status).toBe(200);
    expect(await statusOf(api, id)).toBe('CANCELLED');
  });

  it('erase an account whose job runs elsewhere, from every table', async () => {
    const database = aDatabase();
    const api = await aServiceProcess(database, ['--role', 'api']);
    await aServiceProcess(database, ['--role', 'trainer']);
    const dataset = await aDatasetServer(zip, { isHeld: true });
    const id = await create(api, dataset.url);
    await expect.poll(dataset.asked, patient).toBe(1);
    const erased = await api.ask('DELETE', '/operator/accounts/acme', { key: boss });
    expect(erased).toMatchObject({ status: 200, body: { data: { job_ids: [id] } } });
    const tables = await server.sql(
      'SELECT table_schema AS place, table_name AS name FROM information_schema.tables WHERE table_schema LIKE $1',
      [`${database.schema}%`],
    );
    for (const { place, name } of tables) {
      const rows = await server.sql(`SELECT t::text AS row FROM ${place}."${name}" t`);
      const told = rows.filter(({ row }) => String(row).includes('acme') || String(row).includes(id));
      expect({ place, name, told }).toEqual({ place, name, told: [] });
    }
  });

  it('do both in one process with the role all, which is the default', async () => {
    const both = await aServiceProcess(aDatabase(), []);
    const { url } = await aDatasetServer(zip);
    const id = await create(both, url);
    await isReady(both, id);
    await answers(both, id);
    const metrics = await (await fetch(`${both.url}/metrics`)).text();
    expect(metrics).toContain('orchard_training_runs_total{outcome="done"} 1');
    expect(metrics).toContain('orchard_training_runs 0');
    expect(await both.stop()).toBe(0);
  });

  it('have no more than their probes where they train, and say there whether they can', async () => {
    const { ask, url, stop, said } = await aServiceProcess(aDatabase(), ['--role', 'trainer']);
    expect(said.join('\n')).toContain('Orchard trains the jobs of the database');
    for (const path of ['/health', '/ready']) expect((await ask('GET', path)).status).toBe(200);
    expect(await (await fetch(`${url}/metrics`)).text()).toContain('process_resident_memory_bytes');
    for (const path of ['/', jobs, '/openapi.json', '/docs']) {
      expect((await ask('GET', path)).status).toBe(404);
    }
    await server.stop();
    await expect.poll(async () => (await ask('GET', '/ready')).status, patient).toBe(503);
    expect((await ask('GET', '/health')).status).toBe(200);
    await server.start();
    await expect.poll(async () => (await ask('GET', '/ready')).status, patient).toBe(200);
    expect(await stop()).toBe(0);
  });
});
