/** The service of a bench, in a process of its own; bench/http/messages.ts has its messages. */
import { createWriteStream } from 'node:fs';
import { devNull } from 'node:os';
import { fileStorage, folderModels } from 'orchard-nlp';
import { accountServices, createHandler, hashedKeys, newApiKey, serve } from 'orchard-nlp/http';
import { askRepeatedly } from './ask-repeatedly.js';
import type { AskLibrary, Command, Reply, Serve } from './messages.js';

interface Running {
  readonly url: string;
  readonly path: string;
  readonly apiKey: string;
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
  return {
    url: server.url,
    path:
      'id' in model
        ? `/predictor/language/model/${model.id}`
        : `/predictor/language/pre-trained/${model.name}`,
    apiKey,
    async ask(query) {
      const answer =
        'id' in model
          ? await predictor.predictCustom(model.id, query)
          : await predictor.predictPretrained(model.name, query);
      return answer._unsafeUnwrap();
    },
    async close() {
      await server.close();
      await services.close();
    },
  };
}

function askLibrary(service: Running, { query, connections, seconds }: AskLibrary) {
  const lanes = Array.from({ length: connections }, () => () => service.ask(query));
  return askRepeatedly(lanes, seconds);
}

let running: Running | undefined;

async function obey(command: Command): Promise<Reply | undefined> {
  if (command.type === 'serve') {
    running = await start(command);
    const { url, path, apiKey } = running;
    return { type: 'serving', url, path, apiKey };
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
