import { utimes } from 'node:fs/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { accountServices, createHandler, hashedKeys, newApiKey } from '../../src/http/index.js';
import { ModelUses, UploadRecords } from '../../src/jobs/index.js';
import { folderModels } from '../../src/models/index.js';
import { fileStorage, memoryStorage, type Storage } from '../../src/storage/index.js';
import { run } from '../cli/run-command.js';
import { FakeHost } from '../jobs/fake-host.js';
import { aRequest } from '../jobs/request.js';
import { zipOf } from '../support/archive-builder.js';
import { aReadyModelIn } from '../support/ready-model.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const DAY = 24 * 60 * 60_000;
const acme = newApiKey({ app_id: 'acme/1', tier: 'pro' });
const other = newApiKey({ app_id: 'other', tier: 'pro' });
const boss = newApiKey({ app_id: 'boss', tier: 'pro' });

async function aService({ storage = memoryStorage(), hasOperator = true } = {}) {
  const host = new FakeHost();
  const services = accountServices({
    storage,
    trainer: { host, allowPrivateAddresses: true },
    modelLoader: folderModels(temporaryDirectory()),
    inference: { isolation: 'inline' },
  });
  const handler = createHandler({
    ...services,
    authenticate: hashedKeys([acme.stored, other.stored]),
    ...(hasOperator && { authenticateOperator: hashedKeys([boss.stored]) }),
  });
  onTestFinished(() => services.close());
  const ask = async (method: string, path: string, { key = boss, body, headers }: Question = {}) => {
    const response = await handler(
      new Request(`http://localhost${path}`, {
        method,
        headers: { 'x-api-key': key.apiKey, 'content-type': 'application/json', ...headers },
        ...(body !== undefined && { body }),
      }),
    );
    return { status: response.status, body: JSON.parse(await response.text()) };
  };
  return { ask, storage, host };
}

interface Question {
  readonly key?: { readonly apiKey: string };
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
}

const jobs = '/trainer/language/training-jobs';
const accountPath = `/operator/accounts/${encodeURIComponent('acme/1')}`;

describe('the routes of an operator', () => {
  it('are not there unless there is an operator', async () => {
    const { ask } = await aService({ hasOperator: false });
    for (const [method, path] of [
      ['DELETE', accountPath],
      ['GET', '/operator/unused-models'],
      ['DELETE', '/operator/unused-models'],
    ] as const) {
      expect((await ask(method, path)).status).toBe(404);
    }
  });

  it('take no key of an account, and its key opens nothing of an account', async () => {
    const { ask } = await aService();
    expect((await ask('DELETE', accountPath, { key: acme })).status).toBe(401);
    expect((await ask('GET', '/operator/unused-models', { key: acme })).status).toBe(401);
    expect((await ask('DELETE', '/operator/unused-models', { key: { apiKey: '' } })).status).toBe(401);
    expect((await ask('GET', jobs)).status).toBe(401);
  });

  it('erase an account with its uploads, and leave the other', async () => {
    const { ask, storage, host } = await aService();
    const zip = new Uint8Array(await zipOf({ 'a/config.json': '{}' }));
    for (const key of [acme, other]) {
      const headers = { 'content-type': 'application/zip' };
      expect((await ask('POST', '/page/uploads', { key, body: zip, headers })).status).toBe(200);
    }
    const id = (await ask('POST', jobs, { key: acme, body: JSON.stringify(aRequest) })).body.id;
    await host.nextRun();
    const others = (await ask('POST', jobs, { key: other, body: JSON.stringify(aRequest) })).body.id;

    const { status, body } = await ask('DELETE', accountPath);

    expect(status).toBe(200);
    expect(body.data).toMatchObject({ app_id: 'acme/1', job_ids: [id], uploads: 1 });
    expect((await ask('GET', `${jobs}/${id}`, { key: acme })).status).toBe(404);
    expect((await ask('GET', `${jobs}/${others}`, { key: other })).status).toBe(200);
    expect(await storage.listKeys('uploads')).toHaveLength(1);
    expect((await storage.listKeys('jobs')).filter((key) => key.startsWith('acme'))).toEqual([]);
  });

  it('list and remove unused models of all accounts', async () => {
    const storage = memoryStorage();
    const id = await aReadyModelIn(storage, 'acme/1');
    await new ModelUses(storage, 'acme/1', () => Date.now()).track(id, Date.now());
    const { ask } = await aService({ storage });
    expect((await ask('GET', '/operator/unused-models')).body).toEqual({ data: [] });
    expect((await ask('DELETE', '/operator/unused-models?days=1')).body).toEqual({ data: [] });
    expect((await ask('GET', '/operator/unused-models?days=0')).status).toBe(422);
    expect((await ask('GET', '/operator/unused-models?days=soon')).status).toBe(422);
    expect((await ask('DELETE', '/operator/unused-models?day=40')).status).toBe(422);
    expect((await ask('POST', '/operator/unused-models')).status).toBe(405);
    expect((await ask('GET', accountPath)).status).toBe(405);
  });

  it('name an app_id that is none', async () => {
    const { ask } = await aService();
    expect((await ask('DELETE', `/operator/accounts/${'x'.repeat(51)}`)).status).toBe(422);
  });
});

describe('the header idempotency-key', () => {
  it('gives one job for one request, and refuses another request by its name', async () => {
    const { ask } = await aService();
    const headers = { 'idempotency-key': 'order-66' };
    const body = JSON.stringify(aRequest);
    const first = await ask('POST', jobs, { key: acme, body, headers });
    expect(await ask('POST', jobs, { key: acme, body, headers })).toEqual(first);
    expect((await ask('POST', jobs, { key: other, body, headers })).body.id).not.toBe(first.body.id);
    const changed = JSON.stringify({ ...aRequest, training_config: { num_epochs: 2 } });
    const refused = await ask('POST', jobs, { key: acme, body: changed, headers });
    expect(refused).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['header', 'idempotency-key'], type: 'idempotency_key' }] },
    });
    const tooLong = await ask('POST', jobs, {
      key: acme,
      body,
      headers: { 'idempotency-key': 'x'.repeat(256) },
    });
    expect(tooLong).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['header', 'idempotency-key'] }] },
    });
  });
});

async function aDataFolder(): Promise<{ data: string; storage: Storage; id: string }> {
  const data = temporaryDirectory();
  const storage = fileStorage(data);
  const id = await aReadyModelIn(storage, 'acme/1');
  const upload = { record_version: 1, state: 'waiting', bytes: 1, at: Date.now(), job: null } as const;
  await new UploadRecords(storage).add('acme/1', '0190a6f0-0000-7000-8000-000000000000', upload);
  return { data, storage, id };
}

describe('orchard erase', () => {
  it('asks first, and says what it erased', async () => {
    const { data, storage, id } = await aDataFolder();
    expect(await run(['erase', 'acme/1', '--data', data])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('--yes'),
    });
    expect(await storage.listKeys('jobs')).toHaveLength(1);
    const { stdout } = await run(['erase', 'acme/1', '--data', data, '--yes']);
    expect(stdout).toMatch(
      /^acme\/1: erased 1 job and its model, 1 folder with [\d,]+ bytes, \d+ records?, 1 upload\n$/,
    );
    expect(await storage.listKeys('jobs')).toEqual([]);
    expect(await storage.openFolder(id)).toBeUndefined();
    expect(await storage.listKeys('uploads')).toEqual([]);
  });

  it('refuses a folder that holds no service, and a missing account', async () => {
    const stderr = expect.stringContaining('contains no jobs or models');
    expect(await run(['erase', 'acme', '--data', temporaryDirectory(), '--yes'])).toMatchObject({
      exitCode: 1,
      stderr,
    });
    expect(await run(['erase', '--yes'])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('app_id'),
    });
  });
});

describe('orchard unused', () => {
  it('shows a table, and removes what is in it', async () => {
    const { data, storage, id } = await aDataFolder();
    const key = `${encodeURIComponent('acme/1')}/${id}`;
    expect((await run(['unused', '--data', data])).stdout).toBe('no model has been unused for more than 30 days\n');
    // The first look began to count; so that is set back, with the job and its files.
    const use = await storage.read('model-uses', key);
    await storage.write('model-uses', key, { at: Date.now() - 40 * DAY }, use?.version);
    const job = await storage.read('jobs', key);
    const value = JSON.parse(JSON.stringify(job?.value));
    const created = new Date(Date.now() - 41 * DAY).toISOString().replace('Z', '+00:00');
    await storage.write('jobs', key, { ...value, created }, job?.version);
    await utimes((await storage.openFolder(id)) ?? '', new Date(0), new Date(0));

    const { stdout } = await run(['unused', '--data', data]);
    expect(stdout).toMatch(
      /^account +model +name +unused since +bytes\nacme\/1 +[0-9a-f-]{36} +reviews +20\d\d-\d\d-\d\d +[\d,]+\n1 model, [\d,]+ bytes\n$/,
    );
    expect(await run(['unused', '--data', data, '--remove'])).toMatchObject({ exitCode: 1 });
    expect(await storage.openFolder(id)).toBeDefined();
    expect((await run(['unused', '--data', data, '--remove', '--yes'])).stdout).toMatch(
      /\nremoved 1 model, [\d,]+ bytes\n$/,
    );
    expect(await storage.openFolder(id)).toBeUndefined();
  });
});
