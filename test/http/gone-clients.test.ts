import { ResultAsync } from 'neverthrow';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { AbortedError } from '../../src/contract/errors.js';
import { createHandler, type HandlerOptions, type ServeOptions, serve } from '../../src/http/index.js';
import { rawConnection } from './raw-connection.js';

/** Clients that leave before their answer is ready, and a server that stops: no answer is computed in vain. */

/** Calls that end when they are aborted, and not before. */
function someCalls() {
  const seen: AbortSignal[] = [];
  const untilAborted = (signal: AbortSignal | undefined) =>
    new Promise<never>((_, reject) => {
      if (signal === undefined) return;
      seen.push(signal);
      signal.addEventListener('abort', () => reject(new AbortedError('the call')));
    });
  const call = (signal: AbortSignal | undefined) =>
    ResultAsync.fromPromise<never, AbortedError>(untilAborted(signal), () => new AbortedError('the call'));
  const single = (_: string, __: unknown, options?: { signal?: AbortSignal }) => call(options?.signal);
  const medley = (_: unknown, options?: { signal?: AbortSignal }) => call(options?.signal);
  const services = {
    predictor: () => ({
      predictPretrained: single,
      predictPretrainedBatch: single,
      predictCustom: single,
      predictCustomBatch: single,
    }),
    medley: () => ({ predict: medley, predictBatch: medley, predictPretrainedBatch: single }),
    trainer: () => {
      throw new Error('the trainer is not used here');
    },
  };
  return { seen, services };
}

async function aServer(options: ServeOptions & Pick<HandlerOptions, 'quota'> = {}) {
  const { seen, services } = someCalls();
  const { quota, ...serveOptions } = options;
  const authenticate = () => ({ app_id: 'acme', tier: 'pro' }) as const;
  const handler = createHandler({ ...services, authenticate, ...(quota && { quota }) });
  const server = await serve(handler, { port: 0, drainTimeoutMs: 50, ...serveOptions });
  onTestFinished(() => server.close());
  return { seen, server };
}

function aPost(path: string, body: object): string {
  const json = JSON.stringify(body);
  const head = `host: test\r\nx-api-key: any\r\ncontent-type: application/json\r\ncontent-length: ${json.length}`;
  return `POST ${path} HTTP/1.1\r\n${head}\r\n\r\n${json}`;
}

const query = { query: 'a' };
const queries = { queries: ['a', 'b'] };
const models = { models: ['customer-review'] };
const ID = '0190a6f0-0000-7000-8000-000000000000';
const all: [path: string, body: object][] = [
  ['/predictor/language/pre-trained/customer-review', query],
  [`/predictor/language/model/${ID}`, query],
  ['/batch-predictor/language/pre-trained/customer-review', queries],
  [`/batch-predictor/language/model/${ID}`, queries],
  ['/medley/language', { ...query, ...models }],
  ['/medley/language/batch', { ...queries, ...models }],
  ['/medley/language/batch/pre-trained/customer-review', queries],
];

describe.each(all)('%s', (path, body) => {
  it.each([
    ['breaks the connection off', 'resetAndDestroy' as const],
    ['ends it', 'end' as const],
  ])('is cancelled when its client %s', async (_, leave) => {
    const { seen, server } = await aServer();
    const client = await rawConnection(server.url);
    client.write(aPost(path, body));
    await vi.waitFor(() => expect(seen).toHaveLength(1));
    expect(seen[0]?.aborted).toBe(false);
    client.socket[leave]();
    await vi.waitFor(() => expect(seen[0]?.aborted).toBe(true));
  });

  it('is cancelled when the server has waited for it long enough', async () => {
    const { seen, server } = await aServer();
    const client = await rawConnection(server.url);
    client.write(aPost(path, body));
    await vi.waitFor(() => expect(seen).toHaveLength(1));
    await server.close();
    await vi.waitFor(() => expect(seen[0]?.aborted).toBe(true));
  });
});

it('a query that its client gave up costs nothing', async () => {
  let left = 10;
  const quota = {
    consume: async (_: string, calls = 1) => {
      left -= calls;
    },
    reward: async (_: string, calls = 1) => {
      left += calls;
    },
  };
  const { seen, server } = await aServer({ quota });
  const client = await rawConnection(server.url);
  client.write(aPost('/batch-predictor/language/pre-trained/customer-review', queries));
  await vi.waitFor(() => expect(seen).toHaveLength(1));
  expect(left).toBe(8);
  client.socket.destroy();
  await vi.waitFor(() => expect(left).toBe(10));
});

it('a query whose client has gone while it waited behind another is not asked at all', async () => {
  const { seen, server } = await aServer();
  const client = await rawConnection(server.url);
  const path = '/predictor/language/pre-trained/customer-review';
  client.write(aPost(path, query) + aPost(path, query));
  await vi.waitFor(() => expect(seen).toHaveLength(1));
  client.socket.resetAndDestroy();
  await vi.waitFor(() => expect(seen[0]?.aborted).toBe(true));
  await server.close();
  expect(seen).toHaveLength(1);
});
