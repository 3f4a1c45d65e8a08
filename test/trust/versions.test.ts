import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { newApiKey, type StoredKey } from '../../src/http/index.js';
import { ModelVersions } from '../../src/jobs/index.js';
import { fileStorage, type Storage } from '../../src/storage/index.js';
import { resultOf } from '../support/outcomes.js';
import { aReadyModelIn } from '../support/ready-model.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { tinyCatalogue } from '../support/tiny-catalogue.js';
import { Chance } from './chance.js';

/**
 * Two services on one folder are killed with kill -9 at random points, while models are promoted, rolled back and
 * compared, and clients ask by name. `VERSIONS_KILLS` says how often (default 4), `VERSIONS_SEED` at which points
 * (default 1).
 */

const KILLS = Number(process.env.VERSIONS_KILLS ?? 4);
const SEED = Number(process.env.VERSIONS_SEED ?? 1);
const CLIENTS = 4;
/** Of a batch. */
const MOST_QUERIES = 5;
/** Changes between two kills, at most. */
const MOST_CHANGES = 6;

const NAME = 'support@production';
const account = { app_id: 'acme', tier: 'pro' } as const;
const labels = { a: ['a1', 'a2', 'a3'], b: ['b1', 'b2', 'b3'], c: ['c1', 'c2', 'c3'] } as const;
const ids = ['a', 'b', 'c'].map((letter) => `0190a6f0-0000-7000-8000-00000000000${letter}`);

const command = fileURLToPath(new URL('../../dist/orchard.js', import.meta.url));

/** `orchard serve` on a folder, which can be killed and started again. */
class Service {
  url = '';
  #child: ChildProcess | undefined;
  readonly #data: string;
  readonly #keys: readonly StoredKey[];

  constructor(data: string, keys: readonly StoredKey[]) {
    this.#data = data;
    this.#keys = keys;
    onTestFinished(() => void this.#child?.kill('SIGKILL'));
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, [command, 'serve', '--port', '0', '--data', this.#data], {
      env: { ...process.env, ORCHARD_KEYS: JSON.stringify(this.#keys) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child = child;
    const lines: string[] = [];
    for await (const line of createInterface(child.stderr)) {
      lines.push(line);
      const url = /Orchard answers at (\S+);/.exec(line)?.[1];
      if (url === undefined) continue;
      child.stderr.resume();
      this.url = url;
      return;
    }
    throw new Error(`orchard serve ended: ${lines.join('\n')}`);
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }
}

interface Answer {
  readonly status: number;
  readonly body: {
    readonly data?: unknown;
    readonly detail?: unknown;
    readonly metadata?: { readonly model_id?: string };
  };
}

/** Asks a service. Only if the connection fails, because the service was killed, asks again. */
function client(services: readonly Service[], apiKey: string, onAttempt: () => void) {
  return async (service: Service | undefined, method: string, path: string, body?: unknown): Promise<Answer> => {
    for (let attempt = 0; attempt < 1000; attempt += 1) {
      onAttempt();
      const asked = service ?? services[attempt % services.length];
      try {
        const response = await fetch(`${asked?.url}${path}`, {
          method,
          headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
        return { status: response.status, body: JSON.parse(await response.text()) };
      } catch {
        await delay(20);
      }
    }
    throw new Error(`${method} ${path} had no answer`);
  };
}

/** The record as the storage has it at any moment: whole, and in itself right. */
async function checkRecord(storage: Storage): Promise<void> {
  const found = await storage.read('versions', account.app_id);
  expect(found?.damage).toBeUndefined();
  const { names, deleting } = JSON.parse(JSON.stringify(found?.value));
  expect(deleting).toEqual([]);
  const { models, history, shadow } = names[NAME];
  expect(history.at(-1).model_id).toBe(models.at(-1).id);
  expect(models.length).toBeLessThanOrEqual(20);
  for (const { id } of models) expect(ids).toContain(id);
  if (shadow !== undefined) expect(shadow.model.id).not.toBe(models.at(-1).id);
}

it(`${KILLS} kills leave no request without an answer, and no answer of two models`, {
  timeout: 120_000 + KILLS * 60_000,
}, async () => {
  const chance = new Chance(SEED);
  const data = temporaryDirectory();
  const storage = fileStorage(data);
  const catalogue = await tinyCatalogue(temporaryDirectory(), labels);
  for (const [at, name] of Object.keys(labels).entries()) {
    await aReadyModelIn(storage, account.app_id, { id: ids[at] ?? '', folder: join(catalogue, name) });
  }
  const labelsOf = new Map(Object.values(labels).map((each, at) => [ids[at], [...each]]));
  const { apiKey, stored } = newApiKey(account);
  const services = [new Service(data, [stored]), new Service(data, [stored])];
  await Promise.all(services.map((each) => each.start()));
  let attempts = 0;
  const ask = client(services, apiKey, () => {
    attempts += 1;
  });

  /** What the name has to point to: the last one, and before it those to return to. */
  let stack = [ids[0] ?? ''];
  await ask(undefined, 'POST', `/versions/${NAME}/promote`, { model_id: ids[0] });

  let isOver = false;
  const models = new Set<string | undefined>();
  const asking = Array.from({ length: CLIENTS }, async (_, number) => {
    for (let round = 0; !isOver; round += 1) {
      const queries = Array.from(
        { length: 1 + (round % MOST_QUERIES) },
        (_, at) => `client ${number} asks ${round} ${at}`,
      );
      const path = (kind: string) => `/${kind}/language/model/${NAME}`;
      const service = services[round % services.length];
      const { status, body } =
        queries.length === 1
          ? await ask(service, 'POST', path('predictor'), { query: queries[0] })
          : await ask(service, 'POST', path('batch-predictor'), { queries });
      expect([status, body.detail]).toEqual([200, undefined]);
      const results = [body.data].flat();
      expect(results).toHaveLength(queries.length);
      for (const result of results) {
        const found = JSON.parse(JSON.stringify(result)).labels;
        expect(found.toSorted()).toEqual(labelsOf.get(body.metadata?.model_id));
      }
      models.add(body.metadata?.model_id);
    }
  });
  const reading = (async () => {
    while (!isOver) {
      await checkRecord(storage);
      await delay(1);
    }
  })();

  const others = Promise.all([...asking, reading]);
  others.catch(() => undefined); // it fails the test at the end

  async function change(): Promise<void> {
    const service = chance.of([services[0], services[1]]);
    const current = stack.at(-1) ?? '';
    const model_id = chance.of([ids[0] ?? '', ...ids.slice(1)]);
    const action = chance.of(['promote', 'promote', 'rollback', 'shadow', 'clear']);
    if (action === 'promote') {
      const { status, body } = await ask(service, 'POST', `/versions/${NAME}/promote`, { model_id });
      if (model_id !== current) stack = [...stack, model_id].slice(-20);
      expect([status, body.data]).toMatchObject([200, { model_id }]);
    } else if (action === 'rollback') {
      const { status, body } = await ask(service, 'POST', `/versions/${NAME}/rollback`, { from: current });
      if (stack.length === 1) {
        expect(status).toBe(409);
        return;
      }
      stack = stack.slice(0, -1);
      expect([status, body.data]).toMatchObject([200, { model_id: stack.at(-1) }]);
    } else if (action === 'shadow') {
      const { status } = await ask(service, 'POST', `/versions/${NAME}/shadow`, { model_id });
      expect(status).toBe(model_id === current ? 422 : 200);
    } else {
      const { status } = await ask(service, 'DELETE', `/versions/${NAME}/shadow`);
      expect(status).toBe(200);
    }
    // The process that answered sees its change at once, and one that has started since reads it.
    const { body } = await ask(service, 'POST', `/predictor/language/model/${NAME}`, { query: 'now' });
    expect(body.metadata?.model_id).toBe(stack.at(-1));
  }

  try {
    for (let kills = 0; kills < KILLS; kills += 1) {
      const service = chance.of([services[0], services[1]]);
      const killing = (async () => {
        await delay(chance.below(600));
        await service?.end('SIGKILL');
        await service?.start();
      })();
      for (let changes = 1 + chance.below(MOST_CHANGES); changes > 0; changes -= 1) await change();
      await killing;
    }
    for (const service of services) {
      const model = async () =>
        (await ask(service, 'POST', `/predictor/language/model/${NAME}`, { query: 'in the end' })).body.metadata
          ?.model_id;
      await expect.poll(model, { timeout: 30_000 }).toBe(stack.at(-1));
    }
  } finally {
    isOver = true;
    await Promise.allSettled([others]);
  }
  await others;
  await Promise.all(services.map((each) => each.end('SIGTERM')));

  await checkRecord(storage);
  expect(models.size).toBeGreaterThan(1);
  const version = await resultOf(new ModelVersions({ storage, account }).get(NAME));
  expect(version).toMatchObject({ model_id: stack.at(-1), previous_model_id: stack.at(-2) ?? null });
  const { asked = 0, dropped = 0 } = version.shadow ?? {};
  expect(asked + dropped).toBeLessThanOrEqual(MOST_QUERIES * attempts);
});
