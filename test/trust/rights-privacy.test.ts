import { readdir, readFile, rm } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createClassificationArchive, fileStorage, folderModels } from 'orchard-nlp';
import { accountServices, createHandler, hashedKeys, newApiKey } from 'orchard-nlp/http';
import { expect, it, onTestFinished, vi } from 'vitest';
import { rows, sentimentRequest, temporaryFolder } from '../public/sentiments.js';
import { tinyCatalogue } from '../support/tiny-catalogue.js';

/** Where texts are to be found afterwards: those of queries nowhere, those of training only in the model's folder. */

const QUERY = 'zzquerymark';
const TRAINING = 'zztrainmark';
/** Files of a classifier with words or texts of its dataset. */
const TEXT_FILES = ['evaluation.json'];
const MODEL = 'customer-review';
const jobs = '/trainer/language/training-jobs';

/** Files that hold a text, by their paths, and those whose names do. */
async function filesWith(text: string, directory: string): Promise<string[]> {
  const found: string[] = [];
  for (const file of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(file.parentPath, file.name);
    const content = file.isFile() ? await readFile(path, 'latin1') : '';
    if (`${file.name}\n${content}`.toLowerCase().includes(text)) found.push(relative(directory, path));
  }
  return found.sort();
}

async function aService(folder: string) {
  const written: string[] = [];
  for (const name of ['log', 'info', 'warn', 'error', 'debug'] as const) {
    vi.spyOn(console, name).mockImplementation((...words) => void written.push(words.join(' ')));
  }
  onTestFinished(() => {
    vi.restoreAllMocks();
  });
  const { apiKey, stored } = newApiKey({ app_id: 'acme', tier: 'pro' });
  const data = join(folder, 'data');
  const storage = fileStorage(data);
  const catalogue = await tinyCatalogue(join(folder, 'catalogue'), { [MODEL]: ['a', 'b', 'c'] });
  const services = accountServices({
    storage,
    trainer: { allowFileUrls: true, threads: 1 },
    modelLoader: folderModels(catalogue),
    inference: { workers: 1 },
  });
  const log = (entry: object) => void written.push(JSON.stringify(entry));
  const handler = createHandler({ ...services, authenticate: hashedKeys([stored]), log });
  const ask = async (method: string, path: string, body?: unknown) => {
    const response = await handler(
      new Request(`http://localhost${path}`, {
        method,
        headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    );
    return { status: response.status, text: await response.text() };
  };
  const close = async () => {
    await services.close();
    await storage.close();
  };
  return { ask, close, data, written, services };
}

it('keeps no text of a query, and texts of the dataset only in the folder of the model', async () => {
  const folder = await temporaryFolder();
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const { ask, close, data, written, services } = await aService(folder);
  // With a bundled vocabulary: a learned one holds words of the dataset.
  const request = await sentimentRequest(folder, { num_epochs: 1, language: 'english' });
  const type = 'binary-text-classification';
  // Labels that no model can learn, so that its report quotes mistakes.
  const marked = rows.slice(0, 40).map(({ text }, n) => ({
    text: `${TRAINING} ${text}`,
    label: n % 3 === 0 ? 'positive' : 'negative',
  }));
  const zip = join(folder, 'marked.zip');
  const archive = await createClassificationArchive({ type, name: 'sentiments', rows: marked }, zip);
  expect(archive.isOk()).toBe(true);

  const created = await ask('POST', jobs, { ...request, dataset_url: pathToFileURL(zip).href });
  expect(created.status).toBe(200);
  const { id } = JSON.parse(created.text);
  const ended = await services.trainer({ app_id: 'acme', tier: 'pro' }).waitForTrainingJob(id);
  expect(ended._unsafeUnwrap().status).toBe('READY');

  const query = `${QUERY} works perfectly`;
  const custom = `predictor/language/model/${id}`;
  const pretrained = `predictor/language/pre-trained/${MODEL}`;
  for (const path of [custom, pretrained]) {
    expect((await ask('POST', `/${path}`, { query })).status).toBe(200);
    expect((await ask('POST', `/batch-${path}`, { queries: [query, query] })).status).toBe(200);
    expect((await ask('POST', `/${path}?query=${QUERY}`, { query })).status).toBe(422);
    expect((await ask('POST', `/${path}`, { [QUERY]: query })).status).toBe(422);
    expect((await ask('POST', `/${path}`, `{"query": "${QUERY}`)).status).toBe(422);
    expect((await ask('POST', `/batch-${path}`, { queries: Array.from({ length: 21 }, () => query) })).status).toBe(
      422,
    );
  }
  const medley = await ask('POST', '/medley/language', { query, models: [MODEL, 'emotion-detection'] });
  expect(medley.status).toBe(404);
  const unknown = '/predictor/language/model/0190a6f0-0000-7000-8000-000000000000';
  expect((await ask('POST', unknown, { query })).status).toBe(404);
  const metrics = (await ask('GET', '/metrics')).text;
  const holders = await filesWith(TRAINING, data);
  expect(holders.filter((path) => !path.startsWith(join('folders', id)))).toEqual([]);
  // The exception that the documentation tells of: a report quotes the texts that it is about.
  expect(holders.map((path) => basename(path)).sort()).toEqual(TEXT_FILES);
  await rm(join(data, 'folders', id), { recursive: true });
  expect((await ask('POST', `/${pretrained}`, { query })).status).toBe(200);
  await ask('POST', `/${custom}`, { query });
  await services.operator.eraseAccount('acme');
  await close();

  expect(`${written.join('\n')}\n${metrics}`).not.toContain(QUERY);
  expect(`${written.join('\n')}\n${metrics}`).not.toContain(TRAINING);
  expect(await filesWith(QUERY, data)).toEqual([]);
  for (const mark of [TRAINING, 'acme', id]) expect(await filesWith(mark, data)).toEqual([]);
}, 300_000);
