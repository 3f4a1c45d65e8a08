import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Random } from '../../../src/system/numbers.js';
import { breakOff, holdOpen, requestBytes, type Target } from '../attack/attackers.js';
import type { Client } from './client.js';

/** What somebody does with the service, again and again. */
export type Act = (client: Client, random: Random) => Promise<void>;

const ENDED = new Set(['READY', 'ERROR', 'CANCELLED', 'DELETED']);
const POLL_MS = 300;
/** Of an events stream, which ends with its job. */
const JOB_PATIENCE_MS = 600_000;
/** Characters of the attacker's texts: about as long as a query may be. */
const LONG_TEXT = 99_000;

const sentences = [
  'the parcel came on time and the driver was kind',
  'Angela Merkel met the board of Siemens in Paris on Monday',
  'terrible, it broke after two days and nobody answers the phone',
];

function textOf(words: number, random: Random): string {
  const all = sentences.flatMap((sentence) => sentence.split(' '));
  return Array.from({ length: words }, () => all[random.integer(all.length)]).join(' ');
}

const pretrained = ['sentiment-classification', 'customer-review', 'emotion-detection'];
const anyOf = <Item>(items: readonly Item[], random: Random) => items[random.integer(items.length)];

/** Asks one short text. */
export const askShortly: Act = async (client) => {
  await client.post('/predictor/language/pre-trained/customer-review', {
    query: 'The driver was kind, and the parcel came on time.',
  });
};

/** Asks pretrained models, alone, in batches and together, and now and then leaves before the answer. */
export const askPretrained: Act = async (client, random) => {
  const name = anyOf(pretrained, random);
  const query = textOf(3 + random.integer(200), random);
  const queries = Array.from({ length: 1 + random.integer(20) }, () => textOf(20, random));
  const kind = random.integer(4);
  if (kind === 0) await client.post(`/predictor/language/pre-trained/${name}`, { query });
  else if (kind === 1) await client.post(`/batch-predictor/language/pre-trained/${name}`, { queries });
  else if (kind === 2) await client.post('/medley/language', { models: pretrained, query });
  else await leftEarly(client.post('/medley/language/batch', { models: pretrained, queries }, soon(random)));
};

/** Trains a model, asks it, and deletes it. */
export function trainAskDelete(request: object): Act {
  return async (client, random) => {
    const id = await client.createJob(request);
    if (id === undefined) return client.fault('a job was refused');
    const status = await endOf(client, id);
    if (status !== 'READY') client.fault(`job ${id} is ${status}`);
    for (let count = 0; count < 5; count += 1) {
      const { status, body } = await client.post(`/predictor/language/model/${id}`, {
        query: textOf(10, random),
      });
      if (status !== 200) client.fault(`model ${id} answers ${status}: ${body}`);
    }
    await client.send('DELETE', `/trainer/language/models/${id}`);
    const { status: gone } = await client.post(`/predictor/language/model/${id}`, { query: 'hello' });
    if (gone === 200) client.fault(`model ${id} answers after it was deleted`);
  };
}

/** Starts jobs and cancels or deletes them at any point. */
export function startAndCancel(request: object): Act {
  return async (client, random) => {
    const id = await client.createJob(request);
    if (id === undefined) return;
    await sleep(random.integer(3000));
    const what = random.integer(2) === 0 ? 'training-jobs' : 'models';
    await client.send('DELETE', `/trainer/language/${what}/${id}`);
    const status = await endOf(client, id);
    await client.send('DELETE', `/trainer/language/models/${id}`);
    if (!ENDED.has(status)) client.fault(`job ${id} is ${status} after it was stopped`);
  };
}

/** Uploads a dataset, trains on it, follows the job's events and deletes the model. */
export function uploadAndWatch(archive: Buffer, request: object): Act {
  return async (client) => {
    const uploaded = await client.send('POST', '/page/uploads', archive, { type: 'application/zip' });
    if (uploaded.status !== 200) return client.fault(`an upload was refused: ${uploaded.body}`);
    const { upload } = z.object({ upload: z.string() }).parse(JSON.parse(uploaded.body));
    const { status, body } = await client.post('/page/training-jobs', { ...request, upload });
    if (status !== 200) return client.fault(`a job of an upload was refused: ${body}`);
    const { id } = z.object({ id: z.string() }).parse(JSON.parse(body));
    const events = await client.send('GET', `/page/training-jobs/${id}/events`, undefined, {
      patienceMs: JOB_PATIENCE_MS,
    });
    if (!events.body.includes('READY')) client.fault(`the events of ${id} end without READY`);
    await client.send('DELETE', `/trainer/language/models/${id}`);
  };
}

/** Asks for as much work as one request may, four times at once, and leaves. */
export const attack: Act = async (client, random) => {
  const query = `${textOf(LONG_TEXT, random).slice(0, LONG_TEXT)}`;
  const asked = Array.from({ length: 4 }, (_, at) =>
    leftEarly(
      client.post(
        '/predictor/language/pre-trained/named-entity-recognition',
        { query },
        at === 0 ? undefined : soon(random),
      ),
    ),
  );
  await Promise.all([...asked, client.post('/trainer/language/training-jobs', { dataset_url: 'file:///etc/passwd' })]);
};

function soon(random: Random): AbortSignal {
  return AbortSignal.timeout(5 + random.integer(200));
}

/** A request that its client may break off. */
async function leftEarly(answer: Promise<unknown>): Promise<void> {
  await answer.catch((thrown: unknown) => {
    if (!(thrown instanceof DOMException)) throw thrown;
  });
}

async function endOf(client: Client, id: string): Promise<string> {
  for (;;) {
    const status = await client.statusOf(id);
    if (ENDED.has(status)) return status;
    await sleep(POLL_MS);
  }
}

/** Holds uploads open and breaks requests off, and uploads a file of rows meanwhile. */
export function holdAndBreakOff(target: Target): Act {
  const upload = { type: 'application/zip', body: 'PK', announced: 100 };
  const held = requestBytes(target, ['POST', '/page/uploads'], upload);
  const question = { body: '{"query": "The driver was kind."}' };
  const broken = requestBytes(target, ['POST', '/predictor/language/pre-trained/customer-review'], question);
  const rows = Array.from({ length: 5000 }, (_, at) => `text ${at},label ${at % 7}`);
  return async () => {
    const end = await holdOpen(target, held, 20);
    await breakOff(target, broken, 30, 5);
    await breakOff(target, requestBytes(target, ['GET', '/docs/swagger-ui-bundle.js']), 30, 5);
    const response = await fetch(`${target.url}/page/uploads`, {
      method: 'POST',
      headers: {
        'x-api-key': target.apiKey,
        'content-type': 'text/plain',
        'x-file-name': 'rows.csv',
        'x-model-type': 'multiclass-text-classification',
      },
      body: `text,label\n${rows.join('\n')}\n`,
    });
    await response.text();
    end();
  };
}
