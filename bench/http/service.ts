import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { createServer } from 'node:http';
import { devNull } from 'node:os';
import { text } from 'node:stream/consumers';
import { fileStorage, folderModels } from 'orchard-nlp';
import { accountServices, createHandler, hashedKeys, newApiKey, serve } from 'orchard-nlp/http';
import { askRepeatedly } from './ask-repeatedly.js';
import type { AskLibrary, Command, Reply, Serve } from './messages.js';

/** The service of a bench, in a process of its own; bench/http/messages.ts has its messages. */

interface Running {
  readonly url: string;
  readonly path: string;
  readonly apiKey: string;
  readonly bareUrl: string;
  ask(query: string): Promise<unknown>;
  close(): Promise<void>;
}

async function start({ folder, app_id, model, workers, pretrained }: Serve): Promise<Running> {
  const account = { app_id, tier: 'pro' } as const;
  const { apiKey, stored } = newApiKey(account);
  const services = accountServices({
    storage: fileStorage(folder),
    inference: { workers },
    ...(pretrained !== undefined && { modelLoader: folderModels(pretrained) }),
  });
  const logged = createWriteStream(devNull);
  const handler = createHandler({
    ...services,
    authenticate: hashedKeys([stored]),
    log: (entry) => logged.write(`${JSON.stringify(entry)}\n`),
  });
  const server = await serve(handler, { port: 0 });
  const predictor = services.predictor(account);
  const ask = async (query: string) => {
    const answer =
      'id' in model
        ? await predictor.predictCustom(model.id, query)
        : await predictor.predictPretrained(model.name, query);
    return answer._unsafeUnwrap();
  };
  const bare = await bareServer(ask);
  return {
    url: server.url,
    bareUrl: bare.url,
    ask,
    path: 'id' in model ? `/predictor/language/model/${model.id}` : `/predictor/language/pre-trained/${model.name}`,
    apiKey,
    async close() {
      bare.close();
      await server.close();
      await services.close();
    },
  };
}

/** What HTTP costs in Node with nothing else: the body is a text, and the answer its result. */
async function bareServer(ask: (query: string) => Promise<unknown>) {
  const server = createServer(async (request, response) => {
    response.end(JSON.stringify(await ask(await text(request))));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { url: `http://127.0.0.1:${port}/`, close: () => server.close() };
}

function askLibrary(service: Running, { query, connections, seconds }: AskLibrary) {
  const lanes = Array.from({ length: connections }, () => () => service.ask(query));
  return askRepeatedly(lanes, seconds);
}

let running: Running | undefined;

async function obey(command: Command): Promise<Reply | undefined> {
  if (command.type === 'serve') {
    running = await start(command);
    const { url, path, apiKey, bareUrl } = running;
    return { type: 'serving', url, path, apiKey, bareUrl };
  }
  if (command.type === 'memory') {
    return { type: 'memory', residentMebibytes: process.memoryUsage.rss() / 2 ** 20 };
  }
  if (running === undefined) throw new Error('nothing is served yet');
  if (command.type === 'ask') return { type: 'answered', ...(await askLibrary(running, command)) };
  await running.close();
  process.disconnect();
  return undefined;
}

process.on('message', async (command: Command) => {
  const reply = await obey(command);
  if (reply !== undefined) process.send?.(reply);
});
