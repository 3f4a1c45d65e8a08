import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { memoryStorage, type Storage, Trainer } from 'orchard-nlp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ZipFile } from 'yazl';

/** Every documented rule broken, one at a time: one clear typed error that names the field or row. */

const request = {
  dataset_url: 'https://example.com/data.zip',
  model_config: { name: 'reviews', type: 'binary-text-classification', family: 'Papaya', size: 'mini' },
  training_config: { use_pretrained: false, num_epochs: 1, language: 'german' },
};
const withModel = (change: object) => ({ ...request, model_config: { ...request.model_config, ...change } });
const withTraining = (change: object) => ({
  ...request,
  training_config: { ...request.training_config, ...change },
});
const without = (field: string) => {
  const { [field]: _, ...rest } = Object.fromEntries(Object.entries(request));
  return rest;
};

const archive = {
  'config.json': JSON.stringify({
    desc: 'reviews',
    DATASET_NAME: 'reviews',
    DATA_DIR: 'reviews',
    TRAIN_FILE: 'train.tsv',
    DEV_FILE: 'dev.tsv',
    field_names: ['sentence', 'label'],
    field_header: 0,
    NUM_CLASS_LABELS: 1,
  }),
  'label_id.json': '{"0": "negative", "1": "positive"}',
  'train.tsv': 'sentence\tlabel\ngood thing\t1\nbad thing\t0\nfine thing\t1\nawful thing\t0\n',
  'dev.tsv': 'sentence\tlabel\ngreat\t1\nterrible\t0\n',
};

function zip(files: Readonly<Record<string, string | Buffer>>): Promise<Buffer> {
  const file = new ZipFile();
  for (const [name, content] of Object.entries(files)) file.addBuffer(Buffer.from(content), name);
  file.end();
  return buffer(file.outputStream);
}

let storage: Storage;
let trainer: Trainer;
let server: Server;
let address: string;
let body: Buffer;
let status = 200;

beforeAll(async () => {
  storage = memoryStorage();
  trainer = new Trainer({ storage, threads: 1 });
  server = createServer((_, response) => response.writeHead(status).end(body));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const at = server.address();
  address = `http://127.0.0.1:${typeof at === 'object' ? at?.port : ''}/data.zip`;
});
afterAll(async () => {
  await trainer.close();
  await storage.close();
  server.close();
});

describe('a request that breaks a rule creates no job and names the field', () => {
  it.each<[string, unknown, RegExp]>([
    ['a name of 25 characters', withModel({ name: 'x'.repeat(25) }), /model_config\.name: .*longer than 24/],
    ['an empty name', withModel({ name: '' }), /model_config\.name: .*empty/],
    ['a name with symbols', withModel({ name: 'what?_!' }), /model_config\.name: .*only a–z/],
    ['an upper-case name', withModel({ name: 'Reviews' }), /model_config\.name: .*only a–z/],
    ['a family of another type', withModel({ family: 'Grapefruit' }), /model_config\.family: .*family Papaya/],
    ['an unknown size', withModel({ size: 'huge' }), /model_config\.size: .*"mini"/],
    ['an unknown type', withModel({ type: 'poetry' }), /model_config\.type: /],
    ['no model_config', without('model_config'), /model_config: /],
    ['no dataset_url', without('dataset_url'), /dataset_url: /],
    ['a batch_size that is a string', withTraining({ batch_size: '32' }), /training_config\.batch_size: /],
    ['half an epoch', withTraining({ num_epochs: 0.5 }), /training_config\.num_epochs: /],
    ['a learning rate of 0', withTraining({ learning_rate: 0 }), /training_config\.learning_rate: /],
    ['an unknown field', withTraining({ dropout: 0.1 }), /training_config: .*dropout/],
    [
      'two preprocessings that disagree',
      {
        ...withModel({ preprocessing: { lowercase: true } }),
        training_config: { preprocessing: { lowercase: false } },
      },
      /training_config\.preprocessing\.lowercase: .*give it once/,
    ],
    ['nothing at all', undefined, /.+/],
  ])('%s', async (_, given, message) => {
    const created = await Reflect.apply(trainer.createTrainingJob, trainer, [given]);
    const error = created._unsafeUnwrapErr();
    expect(error.code).toBe('validation');
    expect(error.message).toMatch(message);
    expect((await trainer.listTrainingJobs())._unsafeUnwrap().data).toEqual([]);
  });
});

describe('a dataset that can not be trained on ends its job in ERROR with the reason kept', () => {
  async function errorOf(content: Buffer, code = 200, url = address) {
    body = content;
    status = code;
    const { id } = (
      await Reflect.apply(trainer.createTrainingJob, trainer, [{ ...request, dataset_url: url }])
    )._unsafeUnwrap();
    const job = (await trainer.waitForTrainingJob(id))._unsafeUnwrap();
    expect(job.status).toBe('ERROR');
    return `${job.error?.code} ${job.error?.message}`;
  }

  it('an address where nobody listens', async () => {
    expect(await errorOf(Buffer.alloc(0), 200, 'http://127.0.0.1:9/data.zip')).toMatch(/download .*127\.0\.0\.1:9/);
  });

  it('a 404', async () => {
    expect(await errorOf(Buffer.from('no'), 404)).toMatch(/download .*404/);
  });

  it('a page instead of a zip', async () => {
    expect(await errorOf(Buffer.from('<!doctype html><html></html>'))).toMatch(/dataset .*HTML/);
  });

  it('a zip cut off', async () => {
    expect(await errorOf((await zip(archive)).subarray(0, 300))).toMatch(/^dataset .*data\.zip/);
  });

  it('a zip in a zip', async () => {
    expect(await errorOf(await zip({ 'inner.zip': await zip(archive) }))).toMatch(/dataset .*inner\.zip/);
  });

  it.each<[string, Partial<typeof archive>, RegExp]>([
    ['unequal columns', { 'train.tsv': 'sentence\tlabel\ngood\t1\textra\n' }, /train\.tsv line 2: .*3 columns/],
    ['an unknown label id', { 'dev.tsv': 'sentence\tlabel\ngood\t7\n' }, /dev\.tsv line 2, column label: .*7.*0 to 1/],
    [
      'NUM_CLASS_LABELS that disagrees',
      { 'config.json': archive['config.json'].replace('"NUM_CLASS_LABELS":1', '"NUM_CLASS_LABELS":5') },
      /config\.json, column NUM_CLASS_LABELS: .*5.*1/,
    ],
    ['labels that are no JSON', { 'label_id.json': '{"0": ' }, /label_id\.json line 1/],
  ])('%s', async (_, change, message) => {
    expect(await errorOf(await zip({ ...archive, ...change }))).toMatch(message);
  });

  it('and loses nothing else: the next job is trained', async () => {
    body = await zip(archive);
    status = 200;
    const { id } = (
      await Reflect.apply(trainer.createTrainingJob, trainer, [{ ...request, dataset_url: address }])
    )._unsafeUnwrap();
    expect((await trainer.waitForTrainingJob(id))._unsafeUnwrap().status).toBe('READY');
  });
});
