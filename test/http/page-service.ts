import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { errAsync, okAsync } from 'neverthrow';
import { type Account, type InferenceResult, type ModelType, memoryStorage, NotFoundError } from 'orchard-nlp';
import { type AccountServices, accountServices, createHandler, serve } from 'orchard-nlp/http';
import { sentimentRequest, temporaryFolder } from '../public/sentiments.js';
import { anArchive } from '../support/archive-builder.js';

/** What the page at / is tried on: the built service, its pretrained models played, and datasets to train on. */

export const KEY = 'a key of acme';
const account: Account = { app_id: 'acme', tier: 'pro' };

export const ENTITY_TEXT = 'Ada Lovelace left <b>Paris</b>.';
const emotions = Array.from({ length: 28 }, (_, at) => `emotion ${at}`);

/** What the pretrained models answer, whatever they are asked. */
export const catalogue: Record<string, { readonly type: ModelType; readonly answer: InferenceResult }> = {
  'emotion-detection': {
    type: 'multilabel-text-classification',
    answer: { labels: emotions, scores: emotions.map((_, at) => 0.875 / (at + 1)) },
  },
  'named-entity-recognition': {
    type: 'named-entity-recognition',
    answer: {
      labels: ['PERSON', 'PLACE'],
      scores: [0.98, 0.75],
      tokens: ['Ada Lovelace', 'Paris'],
      token_start_positions: [0, 21],
    },
  },
  'research-papers-search': {
    type: 'question-answering',
    answer: { labels: ['Lamps weigh little.', 'Rivers are long.'], scores: [0.75, 0.125] },
  },
};

/** The services of an account, the pretrained models played. */
function withCatalogue({ predictor, page, ...services }: AccountServices) {
  const { predictCustom, predictCustomBatch, predictPretrainedBatch } = predictor(account);
  const pretrained = Object.entries(catalogue).map(([name, { type }]) => ({
    ...{ name, type },
    commercial_use: name !== 'named-entity-recognition',
    ...(name === 'emotion-detection' && { bytes: 11_314_351 }),
  }));
  return {
    ...services,
    page: { ...page, installedModels: async () => pretrained, explain: explaining(page) },
    predictor: () => ({
      predictCustom: predictCustom.bind(predictor(account)),
      predictCustomBatch: predictCustomBatch.bind(predictor(account)),
      predictPretrainedBatch: predictPretrainedBatch.bind(predictor(account)),
      predictPretrained: (name: string) => {
        const data = catalogue[name]?.answer;
        const metadata = { model_inference_time_ms: 1.5 };
        return data ? okAsync({ data, metadata }) : errAsync(new NotFoundError('pretrained model', name));
      },
    }),
  };
}

/** Pretrained models' answers explained as if the first word were for them and the last against them; others' as they are. */
function explaining(page: AccountServices['page']): AccountServices['page']['explain'] {
  return async (asking, model, query, options) => {
    const answer = catalogue[model.replace('pre-trained/', '')]?.answer;
    if (answer === undefined) return page.explain(asking, model, query, options);
    const words = query.split(' ');
    const explained = answer.labels.map((label, position) => ({
      answer: label,
      score: answer.scores[position] ?? 0,
      position,
      words: words.map((word, at) => ({
        word,
        start: words.slice(0, at).join(' ').length + Math.min(at, 1),
        weight: at === 0 ? 2 : at === words.length - 1 ? -1 : 0.01,
      })),
    }));
    return { data: { ...answer, explained }, metadata: { model_inference_time_ms: 1.5 } };
  };
}

export async function aPlayedService() {
  const storage = memoryStorage();
  const services = accountServices({
    storage,
    trainer: { threads: 1, allowPrivateAddresses: true },
  });
  const authenticate = (apiKey: string) => (apiKey === KEY ? account : undefined);
  const server = await serve(createHandler({ ...withCatalogue(services), authenticate }), { port: 0 });
  return {
    url: server.url,
    async close() {
      await server.close();
      await services.close();
      await storage.close();
    },
  };
}

/** A dataset as a file and behind a URL, and one with 25 rows whose label is none, 20 of them in train.tsv. */
export async function someDatasets() {
  const folder = await temporaryFolder();
  await sentimentRequest(folder);
  const file = join(folder, 'sentiments.zip');
  const wrongFile = join(folder, 'wrong.zip');
  const wrongRows = (rows: number) =>
    Array.from({ length: rows }, (_, row) => [`the lamp is <b>${row}</b> years old`, 7] as const);
  const wrong = anArchive().withRows(wrongRows(20)).withDevRows(wrongRows(5));
  await writeFile(wrongFile, await wrong.zipped());
  const server = createServer((_, response) => createReadStream(file).pipe(response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    file,
    wrongFile,
    url: `http://127.0.0.1:${port}/sentiments.zip`,
    async remove() {
      server.close();
      await rm(folder, { recursive: true });
    },
  };
}
