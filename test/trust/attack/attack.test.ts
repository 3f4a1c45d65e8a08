import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../../../src/http/index.js';
import { anArchive } from '../../support/archive-builder.js';
import { aDatasetServer, aServiceProcess } from '../service-process.js';
import { quantile } from '../soak/process-figures.js';
import { breakOff, requestBytes, type Target } from './attackers.js';

/**
 * One account holds open, floods or breaks off what it can; another asks meanwhile. `npm run test:attack` does it at full
 * size and holds times to bounds; `npm run test:processes` does it in small and looks at the answers alone.
 */

const IS_FULL = process.env.ATTACK === 'full';
const CONNECTIONS = IS_FULL ? 1100 : 150;
/** Fewer than the attacker opens. */
const MAX_CONNECTIONS = IS_FULL ? 1000 : 130;
const HOLD_MS = IS_FULL ? 30_000 : 2500;
const BROKEN_OFF = IS_FULL ? 2000 : 50;
/** Of what an account alone takes, under attack. */
const MOST_TIMES = 3;
/** Below this, a time is the machine's noise, not the attack's. */
const NOISE_MS = 20;

const PREDICT = '/predictor/language/pre-trained/customer-review';
const MODEL = { name: 'reviews', type: 'binary-text-classification', family: 'Papaya', size: 'mini' };
const TRAINING = { num_epochs: 1, batch_size: 8, use_pretrained: false, language: 'german' };

let attacker: Target;
let bystander: Target;
let pid: number;
/** A job that waits for its dataset for as long as the tests run, and a model of the attacker. */
let job: string;
let model: string;

const ends: (() => void)[] = [];
const onEnd = (end: () => void) => void ends.push(end);
afterAll(() => {
  for (const end of ends.reverse()) end();
});

beforeAll(async () => {
  const keys = ['attacker', 'bystander'].map((app_id) => newApiKey({ app_id, tier: 'pro' }));
  const { child, url } = await aServiceProcess(
    keys.map(({ stored }) => stored),
    [],
    onEnd,
    ['--max-connections', `${MAX_CONNECTIONS}`],
  );
  const [first, second] = keys;
  if (first === undefined || second === undefined || child.pid === undefined) throw new Error('no service');
  attacker = { url, apiKey: first.apiKey };
  bystander = { url, apiKey: second.apiKey };
  pid = child.pid;
  const dataset_url = await aDatasetServer(await anArchive().zipped(), onEnd);
  model = await create({ dataset_url });
  await readyModel(model);
  job = await create({ dataset_url: dataset_url.replace('dataset.zip', 'never.zip') });
  await ask(bystander);
});

async function send(
  { url, apiKey }: Target,
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(url + path, {
    method,
    headers: { 'x-api-key': apiKey, ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
}

async function create(request: { dataset_url: string }): Promise<string> {
  const body = { ...request, model_config: MODEL, training_config: TRAINING };
  const response = await send(attacker, 'POST', '/trainer/language/training-jobs', body);
  return JSON.parse(await response.text()).id;
}

async function readyModel(id: string): Promise<void> {
  for (;;) {
    const response = await send(attacker, 'GET', `/trainer/language/training-jobs/${id}`);
    const { status } = JSON.parse(await response.text()).data;
    if (status === 'READY') return;
    if (status !== 'QUEUED' && status !== 'RUNNING') throw new Error(`the job is ${status}`);
    await sleep(100);
  }
}

/** In a connection of its own, which is closed afterwards. */
const ALONE = { connection: 'close' };

const ask = (who: Target, headers = {}) => send(who, 'POST', PREDICT, { query: 'The driver was kind.' }, headers);

interface Seen {
  /** Milliseconds of answered questions of a client that stays connected. */
  readonly times: number[];
  /** Other outcomes of questions, and of /health. */
  readonly faults: string[];
}

/** Asks as the bystander, and as it and for /health in new connections, until `during` has passed. */
async function seenDuring(during: Promise<unknown>): Promise<Seen> {
  const seen: Seen = { times: [], faults: [] };
  let isOver = false;
  void during.then(
    () => {
      isOver = true;
    },
    () => {
      isOver = true;
    },
  );
  const note = async (what: string, asked: Promise<Response>) => {
    const outcome = await asked.then(
      async (response) => {
        await response.text();
        return response.status;
      },
      (thrown: unknown) => String(thrown),
    );
    if (outcome !== 200) seen.faults.push(`${what}: ${outcome}`);
    return outcome === 200;
  };
  while (!isOver) {
    const startedAt = performance.now();
    if (await note('a question', ask(bystander))) seen.times.push(performance.now() - startedAt);
    await note('a question of a new client', ask(bystander, ALONE));
    const probe = fetch(`${bystander.url}/health`, { headers: ALONE, signal: AbortSignal.timeout(10_000) });
    await note('/health', probe);
    await sleep(20);
  }
  await during;
  return seen;
}

async function requireServed(name: string, attack: () => Promise<void>): Promise<void> {
  const alone = await seenDuring(sleep(HOLD_MS / 2));
  const attacked = await seenDuring(attack());
  const p99s = [quantile(alone.times, 0.99), quantile(attacked.times, 0.99)] as const;
  const ratio = p99s[1] / Math.max(p99s[0], NOISE_MS / MOST_TIMES);
  console.log(
    `${name}: p99 ${p99s[0].toFixed(1)} ms alone, ${p99s[1].toFixed(1)} ms attacked (${(p99s[1] / p99s[0]).toFixed(1)} times), ${attacked.times.length} answers`,
  );
  expect(attacked.faults).toEqual([]);
  if (IS_FULL) expect(ratio).toBeLessThanOrEqual(MOST_TIMES);
}

/** Asks again and again, from another process. @returns how often each status came */
async function flood(path: string, body: object, connections: number): Promise<string> {
  const program = fileURLToPath(new URL('./flood.mjs', import.meta.url));
  const args = [attacker.url, attacker.apiKey, path, JSON.stringify(body), String(connections), String(HOLD_MS)];
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args]);
  return stdout.trim();
}

const holding =
  (bytes: string, count = CONNECTIONS, reads = true) =>
  async () => {
    const program = fileURLToPath(new URL('./hold-open.ts', import.meta.url));
    const asked = JSON.stringify({ url: attacker.url, bytes, count, reads });
    const stdio = ['pipe', 'pipe', 'inherit'] as const;
    const child = spawn(process.execPath, ['--import', 'tsx', program, asked], { stdio: [...stdio] });
    const ended = once(child, 'exit');
    await once(child.stdout, 'data');
    await sleep(HOLD_MS);
    child.stdin.end();
    await ended;
  };

describe.skipIf(process.platform !== 'linux')('another account is served, and /health answers', () => {
  it('while one opens event streams of a job that does not end', async () => {
    const bytes = requestBytes(attacker, ['GET', `/page/training-jobs/${job}/events`]);
    await requireServed('event streams', holding(bytes));
  });

  it('while one begins uploads and sends two bytes of each', async () => {
    const upload = { type: 'application/zip', body: 'PK', announced: 100 };
    await requireServed('uploads', holding(requestBytes(attacker, ['POST', '/page/uploads'], upload)));
  });

  it('while one begins questions and does not end them', async () => {
    const bytes = requestBytes(attacker, ['POST', PREDICT], { body: '{', announced: 100 });
    await requireServed('bodies', holding(bytes));
  });

  it('while one without a key begins questions and does not end them', async () => {
    const bytes = requestBytes({ apiKey: '' }, ['POST', PREDICT], { body: '{', announced: 100 });
    await requireServed('bodies without a key', holding(bytes));
  });

  it('while one downloads its model and reads nothing of it', async () => {
    const bytes = requestBytes(attacker, ['GET', `/page/models/${model}/zip`]);
    await requireServed('unread downloads', holding(bytes, CONNECTIONS, false));
  });

  it('while one reads nothing of large files', async () => {
    const bytes = requestBytes(attacker, ['GET', '/docs/swagger-ui-bundle.js']);
    await requireServed('unread files', holding(bytes, CONNECTIONS, false));
  });

  it('while one keeps the queue of queries full', async () => {
    const text = Array.from({ length: 40 }, (_, at) => `w${at}`).join(' ');
    const queries = Array.from({ length: 20 }, (_, at) => `${at} ${text}`);
    await requireServed('a full queue', async () => {
      const path = '/batch-predictor/language/pre-trained/customer-review';
      console.log(await flood(path, { queries }, IS_FULL ? 150 : 30));
    });
  });

  it('while one uploads a file of short rows', async () => {
    const rows = Array.from({ length: IS_FULL ? 1_000_000 : 20_000 }, (_, at) => `t${at.toString(36)},l${at % 4000}`);
    const body = `text,label\n${rows.join('\n')}\n`;
    await requireServed('rows', async () => {
      const response = await fetch(`${attacker.url}/page/uploads`, {
        method: 'POST',
        headers: {
          'x-api-key': attacker.apiKey,
          'content-type': 'text/plain',
          'x-file-name': 'rows.csv',
          'x-model-type': 'multiclass-text-classification',
        },
        body,
      });
      expect([200, 422]).toContain(response.status);
      await response.text();
    });
  });
});

interface Figures {
  readonly files: number;
  readonly mebibytes: number;
}

function figures(): Figures {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return {
    files: readdirSync(`/proc/${pid}/fd`).length,
    mebibytes: Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024,
  };
}

/** The longest stall of the service's event loop since the last time this was asked, in milliseconds. */
async function longestStall(): Promise<number> {
  const text = await (await fetch(`${attacker.url}/metrics`)).text();
  return 1000 * Number(/^nodejs_eventloop_lag_max_seconds (\S+)/m.exec(text)?.[1]);
}

describe.skipIf(process.platform !== 'linux')('after requests that were broken off', () => {
  const routes: readonly [string, () => string][] = [
    ['a question', () => requestBytes(attacker, ['POST', PREDICT], { body: '{"query": "The driver was kind."}' })],
    ['half a question', () => requestBytes(attacker, ['POST', PREDICT], { body: '{"query"', announced: 100 })],
    ['a list', () => requestBytes(attacker, ['GET', '/trainer/language/training-jobs'])],
    ['a zip', () => requestBytes(attacker, ['GET', `/page/models/${model}/zip`])],
    ['a report', () => requestBytes(attacker, ['GET', `/page/models/${model}/report`])],
    ['a card', () => requestBytes(attacker, ['GET', `/page/models/${model}/card`])],
    ['an event stream', () => requestBytes(attacker, ['GET', `/page/training-jobs/${job}/events`])],
    [
      'an upload',
      () => requestBytes(attacker, ['POST', '/page/uploads'], { type: 'application/zip', body: 'PK', announced: 100 }),
    ],
    ['a large file', () => requestBytes(attacker, ['GET', '/docs/swagger-ui-bundle.js'])],
    ['the metrics', () => requestBytes(attacker, ['GET', '/metrics'])],
  ];

  // What the machine does to a stall seldom comes twice.
  it.each(routes)('for %s, no file stays open, and the event loop was free', { retry: 1 }, async (name, bytes) => {
    await breakOff(attacker, bytes(), 20); // what is loaded on first use
    await sleep(500);
    const before = figures();
    await longestStall();
    await breakOff(attacker, bytes(), BROKEN_OFF);
    const stall = await longestStall();
    await expect.poll(() => figures().files, { timeout: 10_000 }).toBeLessThanOrEqual(before.files + 2);
    const after = figures();
    const grown = after.mebibytes - before.mebibytes;
    console.log(
      `${name}: ${before.files} files before, ${after.files} after; ${grown.toFixed(0)} MiB more; longest stall ${stall.toFixed(0)} ms`,
    );
    if (IS_FULL) expect(stall).toBeLessThanOrEqual(50);
  });
});
