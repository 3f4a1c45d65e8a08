import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { StorageError } from '../../src/contract/index.js';
import { accountServices, createHandler, type UploadLimits } from '../../src/http/index.js';
import { DatasetUploads } from '../../src/http/uploads.js';
import { eraseAccount, UploadRecords, uploadFolder } from '../../src/jobs/index.js';
import { memoryStorage, type Storage } from '../../src/storage/index.js';
import { FakeHost, statsAfter } from '../jobs/fake-host.js';
import { aRequest } from '../jobs/request.js';
import { datasetUrl } from '../support/dataset-url.js';
import { resultOf } from '../support/outcomes.js';

/** Uploads of the page that are kept in the storage, between processes: each service here acts as one. */

const HOUR_MS = 60 * 60_000;
const zip = new Uint8Array([...Buffer.from('PK\x03\x04'), 1, 2, 3]);
const { model_config } = aRequest;

/** A process over a storage; the API key is the account's name. */
function aProcess(storage: Storage, uploadLimits: UploadLimits = {}) {
  const host = new FakeHost();
  const services = accountServices({ storage, trainer: { host }, uploadLimits });
  onTestFinished(() => services.close());
  const authenticate = (apiKey: string) => ({ app_id: apiKey, tier: 'pro' }) as const;
  const handler = createHandler({ ...services, authenticate });
  async function ask(path: string, as: string, type: string, body: string | Uint8Array<ArrayBuffer>) {
    const headers = { 'x-api-key': as, 'content-type': type, 'content-length': `${body.length}` };
    const response = await handler(new Request(`http://test${path}`, { method: 'POST', headers, body }));
    return { status: response.status, body: JSON.parse(await response.text()) };
  }
  const put = (as = 'acme', bytes = zip) => ask('/page/uploads', as, 'application/zip', bytes);
  const upload = async (as = 'acme'): Promise<string> => (await put(as)).body.upload;
  const train = (upload: string, as = 'acme') =>
    ask('/page/training-jobs', as, 'application/json', JSON.stringify({ upload, model_config }));
  return { host, services, put, upload, train };
}

/** Removes from a storage what is no longer needed after some time. */
async function sweep(storage: Storage, afterMs = 0): Promise<void> {
  const uploads = new DatasetUploads(storage, () => expect.fail('no trainer is needed'));
  await uploads.sweep(Date.now() + afterMs);
  await uploads.close();
}

describe('an upload in the storage', () => {
  it('is trained on by the process that has the job, from the machine’s own copy, and removed when the job has ended', async () => {
    const storage = memoryStorage();
    const [first, second] = [aProcess(storage), aProcess(storage)];
    const upload = await first.upload();
    const created = await second.train(upload);
    expect(created.status).toBe(200);
    const run = await second.host.nextRun();
    expect(run.spec.allowFileUrls).toBe(true);
    expect(new Uint8Array(await readFile(fileURLToPath(datasetUrl(run.spec))))).toEqual(zip);
    await sweep(storage, 30 * HOUR_MS);
    expect(await storage.openFolder(uploadFolder(upload))).toBeDefined();
    await run.finish(statsAfter(2));
    const trainer = second.services.trainer({ app_id: 'acme', tier: 'pro' });
    await resultOf(trainer.waitForTrainingJob(created.body.id));
    await sweep(storage);
    expect(await storage.openFolder(uploadFolder(upload))).toBeUndefined();
    expect(await storage.listKeys('uploads')).toEqual([]);
  });

  it('serves one job of its account, whichever process is asked, also at the same time', async () => {
    const storage = memoryStorage();
    const [first, second] = [aProcess(storage), aProcess(storage)];
    const upload = await first.upload();
    expect((await second.train(upload, 'stranger')).status).toBe(422);
    const answers = await Promise.all([first.train(upload), second.train(upload)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422]);
    expect((await second.train('../acme')).status).toBe(422);
  });

  it('is left for another try where its job is not accepted', async () => {
    const storage = memoryStorage();
    const { upload, train, services } = aProcess(storage);
    const id = await upload();
    const trainer = services.trainer({ app_id: 'acme', tier: 'pro' });
    await trainer.close();
    expect((await train(id)).status).toBe(503);
    expect((await aProcess(storage).train(id)).status).toBe(200);
  });

  it('is removed without a job within an hour, complete or not', async () => {
    const storage = memoryStorage();
    const { upload } = aProcess(storage);
    const waiting = await upload();
    const arriving = { state: 'arriving', bytes: 1, at: Date.now(), job: null } as const;
    await new UploadRecords(storage).add('acme', '0190a6f0-0000-7000-8000-000000000000', arriving);
    await sweep(storage, HOUR_MS - 60_000);
    expect(await storage.listKeys('uploads')).toHaveLength(2);
    await sweep(storage, HOUR_MS + 60_000);
    expect(await storage.listKeys('uploads')).toEqual([]);
    expect(await storage.openFolder(uploadFolder(waiting))).toBeUndefined();
  });

  it('makes place for a later one while it waits, over all processes', async () => {
    const storage = memoryStorage();
    const [first, second] = [aProcess(storage), aProcess(storage)];
    const ids: string[] = [];
    for (const each of [first, second, first, second]) ids.push(await each.upload());
    const kept = (await storage.listKeys('uploads')).map((key) => key.split('/')[1]);
    expect(kept.sort()).toEqual(ids.slice(1).sort());
  });

  it('counts for the account and for all, wherever it was sent', async () => {
    const storage = memoryStorage();
    const limits = { maxAccountBytes: 2 * zip.length, maxBytes: 3 * zip.length };
    const [first, second] = [aProcess(storage, limits), aProcess(storage, limits)];
    for (const [each, as] of [
      [first, 'acme'],
      [second, 'acme'],
      [second, 'other'],
    ] as const) {
      expect((await each.train(await each.upload(as), as)).status).toBe(200);
    }
    expect((await first.put()).status).toBe(429);
    expect((await first.put('third')).status).toBe(503);
    expect(await storage.listKeys('uploads')).toHaveLength(3);
  });

  it('that is no zip is refused, and nothing of it is kept', async () => {
    const storage = memoryStorage();
    const { put } = aProcess(storage);
    expect((await put('acme', new Uint8Array([1, 2, 3, 4, 5]))).status).toBe(422);
    expect(await storage.listKeys('uploads')).toEqual([]);
  });

  it('goes with its account, and another account’s stays', async () => {
    const storage = memoryStorage();
    const { upload } = aProcess(storage);
    const [own, other] = [await upload('a'), await upload('a b')];
    expect(await resultOf(eraseAccount({ storage, app_id: 'a' }))).toMatchObject({ uploads: 1 });
    expect(await storage.openFolder(uploadFolder(own))).toBeUndefined();
    expect(await storage.openFolder(uploadFolder(other))).toBeDefined();
    expect(await storage.listKeys('uploads')).toHaveLength(1);
  });

  it('takes no space once it was refused because the storage did not answer', async () => {
    const storage = memoryStorage();
    const { put } = aProcess(storage);
    const listing = vi.spyOn(storage, 'list').mockRejectedValueOnce(new StorageError('the database does not answer'));
    expect((await put()).status).toBe(500);
    listing.mockRestore();
    expect(await storage.listKeys('uploads')).toEqual([]);
  });

  it('closes although it can no longer be looked at', async () => {
    const storage = memoryStorage();
    vi.spyOn(storage, 'list').mockRejectedValue(new StorageError('the database does not answer'));
    const uploads = new DatasetUploads(storage, () => expect.fail('no trainer is needed'));
    const sweeping = uploads.sweep();
    await expect(uploads.close()).resolves.toBeUndefined();
    await expect(sweeping).rejects.toThrow('the database does not answer');
  });
});
