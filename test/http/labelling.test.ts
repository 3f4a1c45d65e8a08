import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Account } from '../../src/contract/index.js';
import { accountServices, createHandler, type LabellingLimits } from '../../src/http/index.js';
import { eraseAccount } from '../../src/jobs/index.js';
import { fileStorage, memoryStorage, type Storage } from '../../src/storage/index.js';
import { FakeHost, statsAfter } from '../jobs/fake-host.js';
import { resultOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { MODEL, UNKNOWN_ID, useCatalogue } from './a-service.js';

/** Sets of texts that are labelled through the routes of the page: what is kept, who may reach it, and its limits. */

const catalogue = useCatalogue();
/** Those of the tiny model that the tests say was trained. */
const labels = ['negative', 'neutral', 'positive'] as const;
const colours = ['red', 'green', 'blue', 'white', 'black', 'brown', 'grey', 'pink'];
const texts = colours.map((colour) => `the ${colour} lamp`);

interface Asked {
  readonly as?: string;
  readonly body?: object;
}

/** A process over a storage; the API key is the account's name. */
function aProcess(storage: Storage, labellingLimits: LabellingLimits = {}) {
  const host = new FakeHost();
  const services = accountServices({
    ...{ storage, labellingLimits, trainer: { host, allowPrivateAddresses: true } },
    inference: { isolation: 'inline' },
  });
  onTestFinished(() => services.close());
  const authenticate = (apiKey: string): Account => ({ app_id: apiKey, tier: 'pro' });
  const handler = createHandler({ ...services, authenticate });

  async function send(method: string, path: string, headers: Record<string, string>, body?: string) {
    const url = `http://test/page/labelling-sets${path}`;
    const response = await handler(new Request(url, { method, headers, ...(body !== undefined && { body }) }));
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    return { status: response.status, body: isJson ? JSON.parse(text) : text };
  }
  const ask = (method: string, path = '', { as = 'acme', body }: Asked = {}) =>
    send(method, path, { 'x-api-key': as, 'content-type': 'application/json' }, body && JSON.stringify(body));
  interface Created {
    readonly as?: string;
    readonly file?: string;
    readonly name?: string;
    readonly labels?: readonly string[];
  }
  const create = (content = texts.join('\n'), options: Created = {}) => {
    const { as = 'acme', file = 'lamps.txt', name = 'lamps' } = options;
    const headers = {
      ...{ 'x-api-key': as, 'content-type': 'text/plain', 'content-length': `${Buffer.byteLength(content)}` },
      ...{ 'x-file-name': file, 'x-set-name': name },
      'x-labels': encodeURIComponent(JSON.stringify(options.labels ?? labels)),
    };
    return send('POST', '', headers, content);
  };
  const aSet = async (content?: string): Promise<string> => (await create(content)).body.data.id;
  const choose = (id: string, text: number, label: string | null) =>
    ask('POST', `/${id}/choices`, { body: { text, label } });

  /** Labels the next texts, each by the same label. @returns the texts */
  async function label(id: string, count: number, chosen: string): Promise<string[]> {
    const labelled: string[] = [];
    let { data } = (await ask('GET', `/${id}`)).body;
    while (labelled.length < count) {
      labelled.push(data.next.content);
      ({ data } = (await choose(id, data.next.text, chosen)).body);
    }
    return labelled;
  }

  /** Plays a training on the choices of a set to its end. @returns the id of the model */
  async function train(id: string): Promise<string> {
    const trainer = services.trainer({ app_id: 'acme', tier: 'pro' });
    const model_config = {
      name: 'lamps',
      type: 'multiclass-text-classification',
      family: 'Papaya',
      size: 'mini',
    } as const;
    const { id: model_id } = await resultOf(
      trainer.createTrainingJob({ dataset_url: 'http://127.0.0.1:1/a.zip', model_config }),
    );
    expect((await ask('POST', `/${id}/training`, { body: { model_id } })).status).toBe(200);
    const run = await host.nextRun();
    await cp(join(catalogue.directory, MODEL), run.spec.directory, { recursive: true });
    await run.finish(statsAfter(2));
    await trainer.waitForTrainingJob(model_id);
    return model_id;
  }

  return { services, ask, create, aSet, choose, label, train };
}

const rowsOf = (lines: string) =>
  lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

async function recordsOf(storage: Storage): Promise<string[]> {
  const collections = ['labelling-sets', 'labelling-texts', 'labelling-choices'];
  const keys = collections.map(async (name) => (await storage.listKeys(name)).map((key) => `${name} ${key}`));
  return (await Promise.all(keys)).flat();
}

describe('a set of texts', () => {
  it('gives each text once, takes its label, and has the rows in the order of the choices', async () => {
    const { ask, aSet, choose } = aProcess(memoryStorage());
    const id = await aSet();
    const expected: { text: string; label: string }[] = [];
    let { data } = (await ask('GET', `/${id}`)).body;
    for (let at = 0; data.next !== null; at += 1) {
      const label = labels[at % labels.length] ?? '';
      expected.push({ text: data.next.content, label });
      ({ data } = (await choose(id, data.next.text, label)).body);
    }
    expect(expected.map(({ text }) => text).sort()).toEqual([...texts].sort());
    expect(data).toMatchObject({ texts: 8, counts: [3, 3, 2], skipped: 0, next: null });
    expect(rowsOf((await ask('GET', `/${id}/rows`)).body)).toEqual(expected);
  });

  it.each([
    ['tickets.csv', 'id,text,by\n1,"a, b",me\n2,c,me\n'],
    ['tickets.tsv', 'text\tid\na, b\t1\nc\t2\n'],
    ['tickets.jsonl', '{"text":"a, b","id":1}\n{"text":"c"}\n'],
    ['tickets.json', '[{"sentence":"a, b"},{"sentence":"c"}]'],
    ['tickets.txt', 'a, b\n\n  c  \nC\n'],
    ['tickets', 'a, b\r\nc\r\n'],
  ])('is read from %s, without blank texts and duplicates', async (file, content) => {
    const { create, label } = aProcess(memoryStorage());
    const { body } = await create(content, { file });
    expect(body.data).toMatchObject({ name: 'lamps', labels, texts: 2 });
    expect((await label(body.data.id, 2, 'neutral')).sort()).toEqual(['a, b', 'c']);
  });

  it('of many texts is read in a thread, and gives the same ones', async () => {
    const many = Array.from({ length: 4000 }, (_, at) => `text number ${at}`);
    const { create, label } = aProcess(memoryStorage());
    const { body } = await create(many.join('\n'));
    expect(body.data.texts).toBe(4000);
    expect(many).toEqual(expect.arrayContaining(await label(body.data.id, 60, 'neutral')));
  });

  it('takes the last choice back, and shows its text again', async () => {
    const { ask, aSet, choose } = aProcess(memoryStorage());
    const id = await aSet();
    const first = (await ask('GET', `/${id}`)).body.data.next;
    const second = (await choose(id, first.text, 'neutral')).body.data.next;
    await choose(id, second.text, null);
    const { body } = await ask('POST', `/${id}/undo`, { body: { text: second.text } });
    expect(body.data).toMatchObject({ next: second, last: first.text, skipped: 0, counts: [0, 1, 0] });
    const again = await ask('POST', `/${id}/undo`, { body: { text: second.text } });
    expect([again.status, again.body.detail[0].type]).toEqual([409, 'not_last']);
    const all = await ask('POST', `/${id}/undo`, { body: { text: first.text } });
    expect(all.body.data).toMatchObject({ next: first, last: null, counts: [0, 0, 0] });
  });

  it('leaves skipped texts out of its rows', async () => {
    const { ask, aSet, choose, label } = aProcess(memoryStorage());
    const id = await aSet();
    const { next } = (await ask('GET', `/${id}`)).body.data;
    const skipped = (await choose(id, next.text, null)).body.data;
    expect(skipped).toMatchObject({ skipped: 1, counts: [0, 0, 0], last: next.text });
    const [other] = await label(id, 1, 'positive');
    expect(rowsOf((await ask('GET', `/${id}/rows`)).body)).toEqual([{ text: other, label: 'positive' }]);
  });

  it('takes the same choice twice as one, as after a lost answer, and refuses another one', async () => {
    const { aSet, choose } = aProcess(memoryStorage());
    const id = await aSet();
    const once = await choose(id, 3, 'neutral');
    expect(await choose(id, 3, 'neutral')).toEqual(once);
    const other = await choose(id, 3, 'positive');
    expect([other.status, other.body.detail[0].type]).toEqual([409, 'labelled']);
  });

  it('refuses labels and texts that it does not have', async () => {
    const { aSet, choose } = aProcess(memoryStorage());
    const id = await aSet();
    const label = await choose(id, 0, 'purple');
    expect([label.status, label.body.detail[0]]).toEqual([
      422,
      {
        loc: ['body', 'label'],
        msg: 'the set has no label "purple"; it has negative, neutral, positive',
        type: 'label',
      },
    ]);
    const text = await choose(id, 8, 'neutral');
    const msg = 'there is no text 8; the set has 8 texts, numbered from 0';
    expect([text.status, text.body.detail]).toEqual([422, [{ loc: ['body', 'text'], msg, type: 'text' }]]);
    expect((await choose(id, 7, 'neutral')).status).toBe(200);
  });

  it('is listed with what is done, the newest first', async () => {
    const { ask, create, label } = aProcess(memoryStorage());
    const first = (await create(undefined, { name: 'first' })).body.data.id;
    await create(undefined, { name: 'second' });
    await label(first, 3, 'neutral');
    const { data } = (await ask('GET')).body;
    expect(data).toMatchObject([
      { name: 'second', texts: 8, done: 0 },
      { name: 'first', id: first, labels, texts: 8, done: 3 },
    ]);
  });

  it('keeps more choices than fit one record', async () => {
    const storage = memoryStorage();
    const { ask, aSet, label } = aProcess(storage);
    const id = await aSet(Array.from({ length: 510 }, (_, at) => `text ${at}`).join('\n'));
    const labelled = await label(id, 502, 'neutral');
    expect(await storage.listKeys('labelling-choices')).toHaveLength(2);
    expect((await ask('GET')).body.data).toMatchObject([{ done: 502 }]);
    const taken: string[] = [];
    for (let times = 0; times < 4; times += 1) {
      const { last } = (await ask('GET', `/${id}`)).body.data;
      taken.push((await ask('POST', `/${id}/undo`, { body: { text: last } })).body.data.next.content);
    }
    expect(taken).toEqual(labelled.slice(-4).reverse());
    expect((await ask('GET')).body.data).toMatchObject([{ done: 498 }]);
    const again = await label(id, 3, 'positive');
    const rows = rowsOf((await ask('GET', `/${id}/rows`)).body);
    expect(rows.map(({ text }) => text)).toEqual([...labelled.slice(0, 498), ...again]);
  });

  it('leaves nothing in the storage when it is deleted', async () => {
    const storage = memoryStorage();
    const { ask, aSet, choose, label } = aProcess(storage);
    const id = await aSet();
    await label(id, 2, 'neutral');
    expect((await ask('DELETE', `/${id}`)).body.detail).toEqual([
      { loc: ['path', 'set_id'], msg: `set ${id} is deleted`, type: 'labelling_set.deleted' },
    ]);
    expect(await recordsOf(storage)).toEqual([]);
    expect((await choose(id, 4, 'neutral')).status).toBe(404);
    expect((await ask('DELETE', `/${id}`)).status).toBe(404);
  });
});

describe('choices', () => {
  it('are in the storage before they are answered, and go on after a restart', async () => {
    const directory = await temporaryDirectory();
    const first = aProcess(fileStorage(directory));
    const id = await first.aSet();
    const labelled: string[] = [];
    for (let round = 0; round < 4; round += 1) {
      // The process before is not closed, as if it had been killed after its last answer.
      const { label } = aProcess(fileStorage(directory));
      labelled.push(...(await label(id, 2, labels[round % 2] ?? '')));
    }
    const { ask } = aProcess(fileStorage(directory));
    const rows = rowsOf((await ask('GET', `/${id}/rows`)).body);
    const [negative, neutral] = labels;
    const chosen = [negative, negative, neutral, neutral, negative, negative, neutral, neutral];
    expect(rows).toEqual(labelled.map((text, at) => ({ text, label: chosen[at] })));
    expect((await ask('GET', `/${id}`)).body.data.next).toBeNull();
  });

  it('of several processes at the same time are all kept', async () => {
    const storage = memoryStorage();
    const processes = [aProcess(storage), aProcess(storage), aProcess(storage)] as const;
    const id = await processes[0].aSet();
    const answers = await Promise.all(processes.map(({ choose }, at) => choose(id, at, 'neutral')));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const same = await Promise.all(processes.map(({ choose }, at) => choose(id, 7, labels[at] ?? '')));
    expect(same.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    expect(rowsOf((await processes[1].ask('GET', `/${id}/rows`)).body)).toHaveLength(4);
  });
});

describe('another account', () => {
  it('reaches no set, whatever it asks', async () => {
    const { ask, aSet, label } = aProcess(memoryStorage());
    const id = await aSet();
    await label(id, 1, 'neutral');
    const before = (await ask('GET', `/${id}`)).body;
    const as = 'stranger';
    const body = { text: 0, label: 'neutral' };
    const asked = [
      ask('GET', `/${id}`, { as }),
      ask('GET', `/${id}/rows`, { as }),
      ask('POST', `/${id}/choices`, { as, body }),
      ask('POST', `/${id}/undo`, { as, body: { text: before.data.last } }),
      ask('POST', `/${id}/opinions`, { as, body: { text: before.data.last } }),
      ask('POST', `/${id}/order`, { as }),
      ask('DELETE', `/${id}`, { as }),
    ];
    for (const { status, body: answer } of await Promise.all(asked)) {
      expect([status, answer.detail[0].loc]).toEqual([404, ['path', 'set_id']]);
    }
    expect((await ask('GET', '', { as })).body).toEqual({ data: [] });
    expect((await ask('GET', `/${id}`)).body).toEqual(before);
    for (const wrong of ['..%2Facme', UNKNOWN_ID, 'x'.repeat(300)])
      expect((await ask('GET', `/${wrong}`)).status).toBe(404);
  });

  it('keeps its sets when one is erased, of which nothing stays', async () => {
    const storage = memoryStorage();
    const { ask, create, aSet, label, choose } = aProcess(storage);
    const id = await aSet();
    await label(id, 2, 'neutral');
    const kept = (await create(undefined, { as: 'acme-2' })).body.data.id;
    await resultOf(eraseAccount({ storage, app_id: 'acme' }));
    expect((await recordsOf(storage)).filter((key) => !key.includes(' acme-2/'))).toEqual([]);
    expect((await choose(id, 5, 'neutral')).status).toBe(404);
    expect((await ask('GET', `/${kept}`, { as: 'acme-2' })).status).toBe(200);
  });
});

describe('the limits', () => {
  it('of sets are those of an account, until one is deleted', async () => {
    const storage = memoryStorage();
    const { ask, create } = aProcess(storage, { maxSets: 2 });
    const first = await create();
    await create();
    const third = await create();
    expect([third.status, third.body.detail]).toEqual([
      429,
      [
        {
          loc: ['header', 'x-api-key'],
          msg: 'this account has 2 sets of texts, the maximum; delete one first',
          type: 'labelling_sets',
        },
      ],
    ]);
    expect((await create(undefined, { as: 'other' })).status).toBe(200);
    await ask('DELETE', `/${first.body.data.id}`);
    expect((await create()).status).toBe(200);
    expect(await storage.listKeys('labelling-sets')).toHaveLength(3);
  });

  it('of a file are its size, its texts and their lengths, and nothing of it stays', async () => {
    const storage = memoryStorage();
    const { create } = aProcess(storage, { maxTexts: 5, maxFileBytes: 20_000 });
    const large = await create('x'.repeat(20_001));
    expect([large.status, large.body.detail[0].type]).toEqual([413, 'too_large']);
    const many = await create();
    expect([many.status, many.body.detail[0].msg]).toEqual([
      422,
      'in lamps.txt: found 8 different texts; expected at most 5',
    ]);
    const long = await create(`short\n${'x'.repeat(5001)}\n${'y'.repeat(5002)}`);
    expect(long.body.detail.map(({ msg }: { msg: string }) => msg)).toEqual([
      'in lamps.txt line 2: found a text of 5,001 characters; expected at most 5,000',
      'in lamps.txt line 3: found a text of 5,002 characters; expected at most 5,000',
    ]);
    expect(await recordsOf(storage)).toEqual([]);
  });

  it.each([
    ['one label', ['a'], 'x-labels'],
    ['31 labels', Array.from({ length: 31 }, (_, at) => `l${at}`), 'x-labels'],
    ['a label twice', ['a', 'b', ' a'], 'x-labels'],
    ['a blank label', ['a', ' '], 'x-labels'],
    ['labels of more than 1,000 characters', ['a', 'b'.repeat(1000)], 'x-labels'],
  ])('refuse %s', async (_, wrong, header) => {
    const { create } = aProcess(memoryStorage());
    const { status, body } = await create(undefined, { labels: wrong });
    expect([status, body.detail[0].loc.slice(0, 2)]).toEqual([422, ['header', header]]);
  });

  it.each(['', 'Lamps', 'x'.repeat(25)])('refuse the name %j', async (name) => {
    const { create } = aProcess(memoryStorage());
    const { status, body } = await create(undefined, { name });
    expect([status, body.detail[0].loc]).toEqual([422, ['header', 'x-set-name']]);
  });

  it('refuse a table without a column of texts, and say which one is expected', async () => {
    const { create } = aProcess(memoryStorage());
    const { status, body } = await create('id,remark\n1,fine\n', { file: 'remarks.csv' });
    expect(status).toBe(422);
    expect(body.detail[0].msg).toBe(
      'in remarks.csv line 1: found the columns "id", "remark"; expected a column "text", or a .txt file with one text per line',
    );
  });
});

describe('the model of a set', () => {
  it('says its opinion of a text after the choice, and how often it agreed', async () => {
    const { ask, aSet, choose, label, train, services } = aProcess(memoryStorage());
    const id = await aSet();
    await label(id, 2, 'neutral');
    const before = await ask('POST', `/${id}/opinions`, {
      body: { text: (await ask('GET', `/${id}`)).body.data.last },
    });
    expect(before.body).toEqual({ data: null }); // there is no model
    const model = await train(id);
    let { data } = (await ask('GET', `/${id}`)).body;
    expect(data).toMatchObject({ model, training: null, is_order_due: true });
    let [asked, agreed] = [0, 0];
    for (const chosen of labels) {
      const { text, content } = data.next;
      const predictor = services.predictor({ app_id: 'acme', tier: 'pro' });
      const answer = (await resultOf(predictor.predictCustom(model, content))).data;
      ({ data } = (await choose(id, text, chosen)).body);
      const opinion = (await ask('POST', `/${id}/opinions`, { body: { text } })).body.data;
      asked += 1;
      if (answer.labels[0] === chosen) agreed += 1;
      expect(opinion).toMatchObject({ label: answer.labels[0], agreement: { asked, agreed } });
      expect(opinion.score).toBeCloseTo(answer.scores[0] ?? 0, 5);
    }
    expect(agreed).toBeGreaterThan(0); // the model always gives one of the three
    expect((await ask('GET', `/${id}`)).body.data.agreement).toEqual({ asked, agreed });
    await ask('POST', `/${id}/undo`, { body: { text: data.last } });
    expect((await ask('GET', `/${id}`)).body.data.agreement.asked).toBe(asked - 1);
  });

  it('has no opinion of a text that it was trained on, even if its label is chosen anew', async () => {
    const { ask, aSet, choose, label, train } = aProcess(memoryStorage());
    const id = await aSet();
    await label(id, 3, 'neutral');
    await train(id);
    const { last } = (await ask('GET', `/${id}`)).body.data;
    expect((await ask('POST', `/${id}/opinions`, { body: { text: last } })).body).toEqual({ data: null });
    await ask('POST', `/${id}/undo`, { body: { text: last } });
    await choose(id, last, 'positive');
    expect((await ask('POST', `/${id}/opinions`, { body: { text: last } })).body).toEqual({ data: null });
    const [after] = (await label(id, 1, 'neutral')).slice(-1);
    expect(after).toBeDefined();
    const now = (await ask('GET', `/${id}`)).body.data.last;
    expect((await ask('POST', `/${id}/opinions`, { body: { text: now } })).body.data).not.toBeNull();
  });

  it('orders the texts that are left, the ones it is least sure of first', async () => {
    const { ask, aSet, label, train, services } = aProcess(memoryStorage());
    const id = await aSet();
    const done = await label(id, 2, 'neutral');
    const model = await train(id);
    const { status, body } = await ask('POST', `/${id}/order`);
    expect([status, body.data.order, body.data.is_order_due]).toEqual([200, 'model', false]);
    const predictor = services.predictor({ app_id: 'acme', tier: 'pro' });
    const left = texts.filter((text) => !done.includes(text));
    const margin = new Map<string, number>();
    for (const text of left) {
      const { scores } = (await resultOf(predictor.predictCustom(model, text))).data;
      margin.set(text, (scores[0] ?? 0) - (scores[1] ?? 0));
    }
    const shown = await label(id, left.length, 'neutral');
    const margins = shown.map((text) => margin.get(text) ?? 0);
    expect([...shown].sort()).toEqual([...left].sort());
    for (const [at, each] of margins.slice(1).entries()) expect(each).toBeGreaterThanOrEqual((margins[at] ?? 0) - 1e-5);
  });

  it('is forgotten once it is deleted, and the choices stay', async () => {
    const { ask, aSet, label, train, services } = aProcess(memoryStorage());
    const id = await aSet();
    await label(id, 2, 'neutral');
    const model = await train(id);
    await label(id, 1, 'neutral');
    await resultOf(services.trainer({ app_id: 'acme', tier: 'pro' }).deleteModel(model));
    const { last } = (await ask('GET', `/${id}`)).body.data;
    expect((await ask('POST', `/${id}/opinions`, { body: { text: last } })).body).toEqual({ data: null });
    expect((await ask('GET', `/${id}`)).body.data).toMatchObject({ model: null, counts: [0, 3, 0] });
  });

  it('is that of the account’s own job', async () => {
    const { ask, aSet } = aProcess(memoryStorage());
    const id = await aSet();
    const { status, body } = await ask('POST', `/${id}/training`, { body: { model_id: UNKNOWN_ID } });
    expect([status, body.detail[0].loc]).toEqual([422, ['body', 'model_id']]);
  });

  it('stays the earlier one if a training is cancelled', async () => {
    const { ask, aSet, label, train, services } = aProcess(memoryStorage());
    const id = await aSet();
    await label(id, 2, 'neutral');
    const model = await train(id);
    const trainer = services.trainer({ app_id: 'acme', tier: 'pro' });
    const model_config = {
      name: 'lamps',
      type: 'multiclass-text-classification',
      family: 'Papaya',
      size: 'mini',
    } as const;
    const job = await resultOf(trainer.createTrainingJob({ dataset_url: 'http://127.0.0.1:1/a.zip', model_config }));
    const noted = await ask('POST', `/${id}/training`, { body: { model_id: job.id } });
    expect(noted.body.data).toMatchObject({ model, training: job.id });
    await resultOf(trainer.cancelTrainingJob(job.id));
    await trainer.waitForTrainingJob(job.id);
    expect((await ask('GET', `/${id}`)).body.data).toMatchObject({ model, training: null });
  });
});

describe('before there is a model', () => {
  it('texts are ordered to cover all kinds, some at a time', async () => {
    const { ask, aSet, label } = aProcess(memoryStorage());
    const things = ['lamp', 'train', 'song', 'river'];
    const id = await aSet(things.flatMap((thing) => colours.map((colour) => `a ${colour} ${thing}`)).join('\n'));
    const before = (await ask('GET', `/${id}`)).body.data;
    expect([before.order, before.is_order_due]).toEqual(['chance', true]);
    const { data } = (await ask('POST', `/${id}/order`)).body;
    expect([data.order, data.is_order_due]).toEqual(['spread', false]);
    const first = await label(id, 25, 'neutral');
    expect(new Set(first.map((text) => text.split(' ')[2]))).toEqual(new Set(things));
    expect((await ask('GET', `/${id}`)).body.data.is_order_due).toBe(true);
  });

  it('texts come at random if nothing tells which are similar', async () => {
    const { ask, aSet } = aProcess(memoryStorage());
    const id = await aSet('მწვანე ნათურა\nწითელი ნათურა\nლურჯი მატარებელი');
    const { data } = (await ask('POST', `/${id}/order`)).body;
    expect([data.order, data.is_order_due]).toEqual(['chance', false]);
    expect(data.next).not.toBeNull();
  });
});
