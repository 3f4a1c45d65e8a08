import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { unzip } from '../../src/datasets/index.js';
import { accountServices, createHandler } from '../../src/http/index.js';
import { folderModels } from '../../src/models/index.js';
import { aMemoryStorage } from '../jobs/builders.js';
import { FakeHost } from '../jobs/fake-host.js';
import { aRequest } from '../jobs/request.js';
import { datasetUrl } from '../support/dataset-url.js';
import { aReadyModelIn } from '../support/ready-model.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { MODEL, UNKNOWN_ID, useCatalogue } from './a-service.js';

/** What the page at / asks about models and rows, without a browser. */

const catalogue = useCatalogue();

function aPage() {
  const storage = aMemoryStorage();
  const host = new FakeHost();
  const modelLoader = folderModels(catalogue.directory);
  const services = accountServices({
    storage,
    trainer: { host },
    modelLoader,
    inference: { isolation: 'inline' },
  });
  onTestFinished(() => services.close());
  const handler = createHandler({ ...services, authenticate: (app_id) => ({ app_id, tier: 'pro' }) });
  const send = (method: string, path: string, { as = 'acme', type = '', body = '', headers = {} } = {}) =>
    handler(
      new Request(`http://service.test${path}`, {
        method,
        headers: { 'x-api-key': as, ...(type && { 'content-type': type }), ...headers },
        ...(body !== '' && { body }),
      }),
    );
  const ask = async (path: string, body: object, as?: string) => {
    const sent = { type: 'application/json', body: JSON.stringify(body), ...(as && { as }) };
    const response = await send('POST', path, sent);
    return { status: response.status, body: JSON.parse(await response.text()) };
  };
  const upload = async (name: string, text: string, type: string = aRequest.model_config.type, columns?: string) => {
    const headers = {
      ...{ 'x-file-name': encodeURIComponent(name), 'x-model-type': type },
      ...(columns !== undefined && { 'x-columns': encodeURIComponent(columns) }),
    };
    const response = await send('POST', '/page/uploads', { type: 'text/plain', body: text, headers });
    return { status: response.status, body: JSON.parse(await response.text()) };
  };
  return { storage, host, send, ask, upload };
}

/** The files of the dataset that a job trains on. */
async function trainedOn({ ask, host }: ReturnType<typeof aPage>, upload: string, model_config: object) {
  const created = await ask('/page/training-jobs', { upload, model_config });
  expect(created.status).toBe(200);
  const { spec } = await host.nextRun();
  const folder = join(temporaryDirectory(), 'dataset');
  await mkdir(folder);
  const files = await unzip(fileURLToPath(datasetUrl(spec)), folder);
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  return Object.fromEntries(files.map((file, at) => [file, texts[at] ?? '']));
}

describe('a file of rows', () => {
  const rows = Array.from({ length: 10 }, (_, at) => ({ text: `row ${at}`, label: at % 2 ? 'good' : 'bad' }));

  it('may have other names for its columns, which the request gives', async () => {
    const page = aPage();
    const text = ['Message,Kind', ...rows.map(({ text, label }) => `${text},${label}`)].join('\n');
    const unnamed = await page.upload('rows.csv', text);
    expect(unnamed.status).toBe(422);
    expect(unnamed.body.detail[0].msg).toMatch(/; if yours have other names, choose the columns$/);
    expect((await page.upload('rows.csv', text, undefined, '{"text": "Message", "label": "Kind"}')).status).toBe(200);
    const wrong = await page.upload('rows.csv', text, undefined, '{"texts": "Message"}');
    expect(wrong.body.detail).toMatchObject([{ loc: ['header', 'x-columns'], type: 'columns' }]);
  });

  it.each([
    ['rows.csv', ['text,label', ...rows.map(({ text, label }) => `"${text}",${label}`)].join('\n')],
    ['rows.TSV', ['label\ttext', ...rows.map(({ text, label }) => `${label}\t${text}`)].join('\n')],
    ['rows.jsonl', rows.map((row) => JSON.stringify(row)).join('\n')],
  ])('%s becomes a dataset', async (name, text) => {
    const page = aPage();
    const { status, body } = await page.upload(name, text);
    expect(status).toBe(200);
    const files = await trainedOn(page, body.upload, aRequest.model_config);
    const lines = `${files['upload/train.tsv']}${files['upload/dev.tsv']}`.split('\n');
    for (const { text: row, label } of rows) expect(lines).toContain(`${row}\t${label === 'bad' ? 0 : 1}`);
  });

  it('in CoNLL’s columns, or of questions, becomes a dataset of its type', async () => {
    const sentences = aPage();
    const conll = 'Ada B-PER\nleft O\n\nBob B-PER\nsang O\n\nit O\nrains O\n';
    const model = { name: 'people', type: 'named-entity-recognition', family: 'Grapefruit', size: 'mini' };
    const { upload } = (await sentences.upload('people.conll', conll, model.type)).body;
    const files = await trainedOn(sentences, upload, model);
    expect(Object.keys(files)).toContain('upload/train/sentences.txt');
    const questions = aPage();
    const csv = 'question,context\nHow heavy?,Two kilograms.\nWhere?,In Graz.\nWhen?,In May.\n';
    expect((await questions.upload('faq.csv', csv, 'question-answering')).status).toBe(200);
  });

  it('with mistakes is refused with all of them, under its own name, and leaves nothing', async () => {
    const { upload } = aPage();
    const { status, body } = await upload('Zeilen 1/2.csv', 'text,label\nfine,good\n,bad\nodd,\n');
    expect(status).toBe(422);
    expect(body.detail).toHaveLength(2);
    for (const [at, line] of [3, 4].entries()) {
      expect(body.detail[at]).toMatchObject({ loc: ['body'], type: 'dataset' });
      expect(body.detail[at].msg).toMatch(new RegExp(`^in Zeilen 1_2\\.csv line ${line}`));
    }
  });

  it.each([
    ['of an ending that its type has not', 'rows.xlsx', 'text', aRequest.model_config.type, 'file_type'],
    ['for no type of model', 'rows.csv', 'text', 'weather-forecast', 'model_type'],
    ['without a name', '', 'text', aRequest.model_config.type, 'missing'],
    ['named as a folder', '..', 'text', aRequest.model_config.type, 'missing'],
  ])('%s is refused', async (_, name, text, type, problem) => {
    const { status, body } = await aPage().upload(name, text, type);
    expect(status).toBe(422);
    expect(body.detail[0].type).toBe(problem);
  });
});

describe('an explanation', () => {
  it('of a pretrained or a custom model has the answer and its words', async () => {
    const { ask, storage } = aPage();
    const id = await aReadyModelIn(storage, 'acme');
    for (const model of [`pre-trained/${MODEL}`, `model/${id}`]) {
      const { status, body } = await ask('/page/explanations', { model, query: 'it works well' });
      expect(status).toBe(200);
      expect(body.data.labels).toHaveLength(3);
      expect(body.data.explained).toHaveLength(1);
      expect(body.data.explained[0].words.map(({ word }: { word: string }) => word)).toEqual(['it', 'works', 'well']);
    }
    expect((await ask('/page/explanations', { model: `model/${id}`, query: 'x' }, 'stranger')).status).toBe(404);
    expect((await ask('/page/explanations', { model: 'weather', query: 'x' })).status).toBe(404);
    const unknown = { model: `model/${id}`, query: 'x', label: 'weather' };
    expect((await ask('/page/explanations', unknown)).body.detail[0].loc).toEqual(['body', 'label']);
  });
});

describe('the files of a model', () => {
  it('are its card, and its folder as a zip, for its account alone', async () => {
    const { send, storage } = aPage();
    const id = await aReadyModelIn(storage, 'acme');
    const folder = (await storage.openFolder(id)) ?? '';
    await writeFile(join(folder, 'README.md'), '# any');
    const card = await send('GET', `/page/models/${id}/card`);
    expect(card.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
    expect(await card.text()).toBe('# any');

    const zip = await send('GET', `/page/models/${id}/zip`);
    expect(zip.headers.get('content-type')).toBe('application/zip');
    const place = temporaryDirectory();
    await writeFile(join(place, 'model.zip'), new Uint8Array(await zip.arrayBuffer()));
    await mkdir(join(place, 'model'));
    await unzip(join(place, 'model.zip'), join(place, 'model'));
    const names = (await readdir(folder, { recursive: true })).sort();
    expect((await readdir(join(place, 'model'), { recursive: true })).sort()).toEqual(names);
    for (const name of ['config.json', 'onnx/model.onnx']) {
      const sent = await readFile(join(place, 'model', name));
      expect(sent.equals(await readFile(join(folder, name)))).toBe(true);
    }

    for (const file of ['card', 'zip', 'report']) {
      for (const [as, asked] of [
        ['stranger', id],
        ['acme', UNKNOWN_ID],
      ] as const) {
        const refused = await send('GET', `/page/models/${asked}/${file}`, { as });
        expect(refused.status).toBe(404);
        expect(JSON.parse(await refused.text()).detail[0].loc).toEqual(['path', 'model_id']);
      }
    }
  });

  it('end the zip, and nothing else, if the model is deleted while it is read', async () => {
    const { send, storage } = aPage();
    const id = await aReadyModelIn(storage, 'acme');
    const folder = (await storage.openFolder(id)) ?? '';
    await writeFile(join(folder, 'a.bin'), randomBytes(4_000_000)); // more than is read ahead
    const { body } = await send('GET', `/page/models/${id}/zip`);
    const reader = body?.getReader();
    await reader?.read();
    await rm(folder, { recursive: true });
    const readOn = async () => {
      while (!(await reader?.read())?.done);
    };
    await expect(readOn()).rejects.toThrow(/ENOENT/);
  });
});
