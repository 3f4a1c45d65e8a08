import { mkdtempSync } from 'node:fs';
import { cp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import type { Account, ModelConfig } from '../../src/contract/index.js';
import {
  accountServices,
  createHandler,
  type Handler,
  type HandlerOptions,
  hashedKeys,
  newApiKey,
  type ServeOptions,
  serve,
} from '../../src/http/index.js';
import type { ServiceOptions as RunServiceOptions } from '../../src/inference/index.js';
import type { TrainerOptions } from '../../src/jobs/index.js';
import { folderModels } from '../../src/models/index.js';
import { memoryStorage } from '../../src/storage/index.js';
import { FakeHost, statsAfter } from '../jobs/fake-host.js';
import { aRequest } from '../jobs/request.js';
import { tinyCatalogue } from '../support/tiny-catalogue.js';
import { requireDocumented } from './documented.js';

/** The whole service over tiny pretrained models, its training played by the test. */

export const MODEL = 'customer-review';
export const OTHER_MODEL = 'emotion-detection';
export const UNKNOWN_ID = '0190a6f0-0000-7000-8000-000000000000';

const accounts = {
  pro: { app_id: 'acme', tier: 'pro' },
  basic: { app_id: 'corner-shop', tier: 'basic' },
  stranger: { app_id: 'stranger', tier: 'pro' },
} as const satisfies Record<string, Account>;
export type AccountName = keyof typeof accounts;

const issued = Object.entries(accounts).map(([name, account]) => [name, newApiKey(account)] as const);
const apiKeys = Object.fromEntries(issued.map(([name, { apiKey }]) => [name, apiKey]));
export const storedKeys = issued.map(([, { stored }]) => stored);

/** A folder of pretrained models by their names. */
export interface Catalogue {
  readonly directory: string;
}

/**
 * The catalogue that all tests around the call share, its directory known once they run.
 * @param make builds it in an empty folder. Default: two classifiers, which takes a second.
 */
export function useCatalogue(make: (folder: string) => Promise<string> = twoClassifiers): Catalogue {
  const folder = mkdtempSync(join(tmpdir(), 'orchard-http-'));
  const catalogue = { directory: '' };
  beforeAll(async () => {
    catalogue.directory = await make(folder);
  });
  afterAll(() => rm(folder, { recursive: true }));
  return catalogue;
}

function twoClassifiers(folder: string): Promise<string> {
  return tinyCatalogue(folder, {
    [MODEL]: ['negative', 'neutral', 'positive'],
    [OTHER_MODEL]: ['angry', 'calm', 'glad'],
  });
}

export interface Question {
  /** Whose key is sent. Default: a pro account's; null sends none. */
  readonly as?: AccountName | null;
  /** Sent as JSON; a string or bytes as they are. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ServiceOptions {
  /** Whether questions go over a socket to Node's server. Default: straight to the handler. */
  readonly overSocket?: boolean;
  readonly server?: ServeOptions;
  readonly trainer?: Partial<TrainerOptions>;
  readonly handler?: Partial<HandlerOptions>;
  readonly inference?: RunServiceOptions;
  readonly watchDrift?: boolean;
}

/** A service that is closed when the running test has finished. */
export async function aService({ directory }: Catalogue, options: ServiceOptions = {}) {
  const storage = memoryStorage();
  const host = new FakeHost();
  const services = accountServices({
    storage,
    trainer: { host, allowPrivateAddresses: true, ...options.trainer },
    modelLoader: folderModels(directory),
    inference: { isolation: 'inline', ...options.inference },
    ...(options.watchDrift && { watchDrift: true }),
  });
  const handler = createHandler({ ...services, authenticate: hashedKeys(storedKeys), ...options.handler });
  onTestFinished(() => services.close());
  const { send, url } = options.overSocket ? await overSocket(handler, options.server) : direct(handler);

  /** Sees too that the answer is one that the OpenAPI document tells of. */
  async function ask(method: string, path: string, question: Question = {}) {
    const response = await send(new Request(url + path, requestOf(method, question)));
    const { status, headers } = response;
    const text = await response.text();
    const isJson = headers.get('content-type')?.startsWith('application/json') && method !== 'HEAD';
    const body = isJson ? JSON.parse(text) : text;
    if (method !== 'HEAD') requireDocumented(method, path, status, body, options.handler ?? {});
    return { status, headers, body };
  }

  /** Creates a job, and plays its training to the end. @param files more ones for its folder. @returns the id of a model that answers. */
  async function aReadyModel(
    model_config: Partial<ModelConfig> = {},
    files: Readonly<Record<string, Uint8Array>> = {},
  ): Promise<string> {
    const body = { ...aRequest, model_config: { ...aRequest.model_config, ...model_config } };
    const { id } = (await ask('POST', '/trainer/language/training-jobs', { body })).body;
    const run = await host.nextRun();
    await cp(join(directory, MODEL), run.spec.directory, { recursive: true });
    for (const [name, bytes] of Object.entries(files)) await writeFile(join(run.spec.directory, name), bytes);
    await run.finish(statsAfter(2));
    await services.trainer(accounts.pro).waitForTrainingJob(id);
    return id;
  }

  return { ask, aReadyModel, host, services, handler, url };
}

export type ServiceInTest = Awaited<ReturnType<typeof aService>>;

function direct(handler: Handler) {
  return { send: handler, url: 'http://service.test' };
}

async function overSocket(handler: Handler, options: ServeOptions = {}) {
  const server = await serve(handler, { port: 0, ...options });
  onTestFinished(() => server.close());
  return { send: (request: Request) => fetch(request), url: server.url };
}

function requestOf(method: string, { as = 'pro', body, headers }: Question): RequestInit {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array;
  return {
    method,
    headers: {
      ...(as !== null && { 'x-api-key': apiKeys[as] ?? '' }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: isRaw ? new Blob([body]) : JSON.stringify(body) }),
  };
}
