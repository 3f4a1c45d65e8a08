import { createReadStream } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { finished, PassThrough, Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import * as z from 'zod';
import {
  type Account,
  absentable,
  modelTypes,
  orThrow,
  querySchema,
  trainableModelSchema,
  trainingConfigSchema,
} from '../../contract/index.js';
import { COLUMN_NAMES } from '../../datasets/index.js';
import { familyOfType } from '../../families/index.js';
import { CARD_FILE } from '../../models/index.js';
import { type BodyLimits, otherType, requirePlain } from '../body.js';
import { jobStream } from '../jobs.js';
import { type Route, route } from '../route.js';
import {
  createdSchema,
  explanationSchema,
  inferenceCallsOf,
  modelPathSchema,
  noQuery,
  pageModelsSchema,
} from '../schemas.js';
import type { PageServices } from '../services.js';
import { hasRows, UPLOAD_TIMEOUT_MS } from '../uploads.js';

const oneModel = z.object({ path: modelPathSchema, query: noQuery });

/** An explanation counts as several calls, because the model reads the text once for each word. */
const EXPLANATION_CALLS = 10;

const ZIP_TYPE = 'application/zip';
const DEFAULT_MAX_UPLOAD_BYTES = 128 * 2 ** 20;

export function pageRoutes(page: PageServices, maxBodyBytes = DEFAULT_MAX_UPLOAD_BYTES): readonly Route[] {
  const limits: BodyLimits = { maxBodyBytes, bodyTimeoutMs: UPLOAD_TIMEOUT_MS };
  const answer_views = Object.fromEntries(modelTypes.map((type) => [type, familyOfType(type).answerView]));
  const { text, label, labels, question, passage } = COLUMN_NAMES;
  const column_names = {
    text: [...text],
    label: [...label, ...labels],
    question: [...question],
    passage: [...passage],
  };
  return [
    route({
      method: 'GET',
      path: '/page/models',
      id: 'listInstalledModels',
      tag: 'page',
      summary: 'The installed pretrained models, how answers are shown, and which columns of a file are recognized',
      input: z.object({ query: noQuery }),
      output: pageModelsSchema,
      answer: async () => ({ data: await page.installedModels(), answer_views, column_names }),
    }),
    route({
      method: 'POST',
      path: '/page/explanations',
      id: 'explainAnswer',
      tag: 'page',
      summary: 'An answer of a model, and which words influenced it',
      input: z.object({
        query: noQuery,
        // `model` is the path of the model below /predictor/language.
        body: z.strictObject({ model: z.string(), query: querySchema, label: absentable(z.string()) }),
      }),
      output: explanationSchema,
      mostQueries: 1,
      inferenceCalls: ({ body }) => EXPLANATION_CALLS * inferenceCallsOf([body.query]),
      answer: (_, { account, signal }, { body: { model, query, label } }) =>
        page.explain(account, model, query, { signal, label }),
    }),
    route({
      method: 'POST',
      path: '/page/uploads',
      holds: 'uploads',
      id: 'uploadDataset',
      tag: 'page',
      summary: 'Upload a dataset: a zip, or a file of rows',
      input: z.object({ query: noQuery }),
      answer: async (_, { account, context }) => {
        const request = context.req.raw;
        if (request.headers.get('content-type') !== ZIP_TYPE && !hasRows(request)) throw otherType(ZIP_TYPE);
        requirePlain(request);
        return { upload: await page.uploads.save(account, request, limits) };
      },
    }),
    route({
      method: 'POST',
      path: '/page/training-jobs',
      id: 'createTrainingJobFromUpload',
      tag: 'page',
      summary: 'Train a custom model on an uploaded dataset',
      input: z.object({
        query: noQuery,
        body: z.strictObject({
          upload: z.string(),
          model_config: trainableModelSchema,
          training_config: absentable(trainingConfigSchema),
        }),
      }),
      output: createdSchema,
      answer: (_, { account, signal }, { body: { upload, ...request } }) =>
        page.uploads.train(account, upload, request, { signal }),
    }),
    route({
      method: 'GET',
      path: '/page/training-jobs/{model_id}/events',
      holds: 'streams',
      id: 'watchTrainingJob',
      tag: 'page',
      summary: 'The events of a training job, as server-sent events',
      input: oneModel,
      answer: async ({ trainer }, { account, context }, { path: { model_id } }) => {
        await orThrow(trainer(account).getTrainingJob(model_id)); // a 404 instead of a stream that fails at once
        return jobStream(context, trainer(account), model_id);
      },
    }),
    modelFile('report', 'text/html; charset=utf-8', (account, id) => page.report(account, id)),
    modelFile('card', 'text/markdown; charset=utf-8', async (account, id) =>
      readFile(join(await page.modelFolder(account, id), CARD_FILE), 'utf8'),
    ),
    modelFile('zip', ZIP_TYPE, async (account, id) => zipOf(await page.modelFolder(account, id))),
  ];
}

type Content = string | ReadableStream<Uint8Array>;

function modelFile(
  name: 'report' | 'card' | 'zip',
  type: string,
  content: (account: Account, id: string) => Promise<Content>,
): Route {
  return route({
    method: 'GET',
    path: `/page/models/{model_id}/${name}`,
    ...(name === 'zip' && { holds: 'downloads' }),
    id: `download_${name}`,
    tag: 'page',
    summary: `The ${name} of a model`,
    input: oneModel,
    answer: async (_, { account, context }, { path }) =>
      context.body(await content(account, path.model_id), {
        headers: { 'content-type': type, 'cache-control': 'no-store' },
      }),
  });
}

/** A folder with everything below it, as a zip that is made while it is read. Its files are closed with the stream. */
async function zipOf(folder: string): Promise<ReadableStream<Uint8Array>> {
  const zip = new ZipFile();
  const passed = new PassThrough();
  /** If a file disappears before it is read, the answer ends, not the process. */
  const stop = (thrown: Error) => passed.destroy(thrown);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files: Readable[] = [];
  for (const entry of entries.filter((each) => each.isFile())) {
    const path = join(entry.parentPath, entry.name);
    zip.addReadStreamLazy(path.slice(folder.length + 1).replaceAll('\\', '/'), (give) => {
      if (passed.destroyed) return; // so that the next file isn't opened when the client has gone
      const file = createReadStream(path);
      file.on('error', stop);
      files.push(file);
      give(null, file);
    });
  }
  zip.on('error', stop);
  finished(passed, () => {
    for (const file of files) file.destroy();
  });
  zip.outputStream.pipe(passed);
  zip.end();
  return Readable.toWeb(passed);
}
