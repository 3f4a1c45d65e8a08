import { homedir, tmpdir } from 'node:os';
import { describe, expect, it, onTestFinished } from 'vitest';
import { accountServices, createHandler } from '../../src/http/index.js';
import { aMemoryStorage } from '../jobs/builders.js';
import { aRequest } from '../jobs/request.js';
import { anArchive, zipOf } from '../support/archive-builder.js';

/** Datasets made to fail: the answers to them never name a folder or address of the server. */

const account = { app_id: 'acme', tier: 'pro' } as const;

/** The names in the zip, changed after it was made: zip programs refuse to write them. Of the same length. */
function renamed(zip: Buffer, from: string, to: string): Buffer {
  return Buffer.from(zip.toString('latin1').replaceAll(from, to), 'latin1');
}

const LONG_NAME = `${'n'.repeat(300)}.tsv`;
const DEEP_PATH = `${'deep/'.repeat(1000)}train.tsv`;
const archive = anArchive();

const archives: [what: string, zip: () => Promise<Buffer>][] = [
  ['a file where a folder is needed', async () => renamed(await zipOf({ data: '1', 'xata/b': '2' }), 'xata', 'data')],
  ['a folder where a file is needed', async () => renamed(await zipOf({ 'data/b': '1', xata: '2' }), 'xata', 'data')],
  ['a file twice', async () => renamed(await zipOf({ 'a.txt': '1', 'b.txt': '2' }), 'b.txt', 'a.txt')],
  ['a name that is too long', () => archive.withFile(LONG_NAME, 'a').zipped()],
  ['a path that is too long', () => archive.withFile(DEEP_PATH, 'a').zipped()],
  ['a folder whose name is too long', () => archive.withFile(`${LONG_NAME}/a`, 'a').zipped()],
  ['a path that leads outside', async () => renamed(await zipOf({ 'xx/xx/evil': '1' }), 'xx/xx', '../..')],
  ['an absolute path', async () => renamed(await zipOf({ 'xtmp/evil': '1' }), 'xtmp', '/tmp')],
  ['a name with NUL', async () => renamed(await zipOf({ a_txt: '1' }), 'a_txt', 'a\0txt')],
  ['half of an archive', async () => (await archive.zipped()).subarray(0, 200)],
  ['a wrong checksum', async () => renamed(await zipOf({ 'config.json': '{}' }), '{}', '[]')],
  ['another archive in it', async () => zipOf({ 'inner.zip': await archive.zipped() })],
  ['nothing', () => zipOf({})],
  ['config.json as a folder', () => zipOf({ 'config.json/train.tsv': 'a' })],
  ['rows in a folder', () => archive.without('train.tsv').withFile('train.tsv/rows', 'a').zipped()],
  ['TRAIN_FILE outside', () => archive.withConfig({ TRAIN_FILE: '../../../etc/passwd' }).zipped()],
  ['TRAIN_FILE too long', () => archive.withConfig({ TRAIN_FILE: LONG_NAME }).zipped()],
  ['DATA_DIR outside', () => archive.withConfig({ DATA_DIR: '../'.repeat(50), TRAIN_FILE: 'etc/passwd' }).zipped()],
  ['TRAIN_FILE with NUL', () => archive.withConfig({ TRAIN_FILE: 'a\0.tsv' }).zipped()],
  ['labels that poison', () => archive.withFile('label_id.json', '{"__proto__":"a","constructor":"b"}').zipped()],
  ['deep JSON', () => archive.withFile('label_id.json', '['.repeat(100_000)).zipped()],
];

/** A service that really reads datasets, and where its folders are. */
function aService(allowPrivateAddresses = true) {
  const services = accountServices({
    storage: aMemoryStorage(),
    trainer: { isolation: 'inline', allowPrivateAddresses },
  });
  onTestFinished(() => services.close());
  const handler = createHandler({ ...services, authenticate: () => account });
  async function ask(method: string, path: string, type?: string, body?: string | Uint8Array<ArrayBuffer>) {
    const headers = { 'x-api-key': 'any', ...(type && { 'content-type': type }) };
    const response = await handler(
      new Request(`http://service.test${path}`, { method, headers, ...(body !== undefined && { body }) }),
    );
    return { status: response.status, text: await response.text() };
  }
  const post = (path: string, body: object) => ask('POST', path, 'application/json', JSON.stringify(body));
  /** Everything that the service tells of a job when it has ended. */
  async function toldOf(id: string): Promise<string> {
    await services.trainer(account).waitForTrainingJob(id);
    const told = await Promise.all([
      ask('GET', `/trainer/language/training-jobs/${id}`),
      ask('GET', '/trainer/language/training-jobs'),
      ask('GET', `/page/training-jobs/${id}/events`),
      post(`/predictor/language/model/${id}`, { query: 'a' }),
    ]);
    return told.map(({ text }) => text).join('\n');
  }
  return { ask, post, toldOf };
}

function expectNoPlaces(told: string): void {
  for (const place of [tmpdir(), process.cwd(), homedir(), '/etc/', 'node_modules']) {
    expect(told.replaceAll(/\.\.\/\.\.\/\.\.\/etc\/passwd|\/tmp\/evil/g, '')).not.toContain(place);
  }
  expect(told).not.toMatch(/\b(open|mkdir|stat|scandir|lstat) '/);
}

describe('an uploaded archive with', () => {
  it.each(archives)('%s ends its job in ERROR without telling of the server’s folders', async (_, zip) => {
    const { ask, post, toldOf } = aService();
    const bytes = new Uint8Array(await zip());
    const { text } = await ask('POST', '/page/uploads', 'application/zip', bytes);
    const { upload } = JSON.parse(text);
    const created = await post('/page/training-jobs', { upload, model_config: aRequest.model_config });
    const told = await toldOf(JSON.parse(created.text).id);
    expect(told).toContain('"status":"ERROR"');
    expectNoPlaces(told);
  });
});
