import * as z from 'zod';
import {
  batchQueriesSchema,
  type InferenceResponse,
  MAX_BATCH_QUERIES,
  MAX_MEDLEY_QUERIES,
  medleyBatchRequestSchema,
  medleyRequestSchema,
  orThrow,
  querySchema,
} from '../../contract/index.js';
import type { JudgedResult } from '../../families/index.js';
import { type Failure, type Route, route } from '../route.js';
import {
  inferenceCallsOf,
  medleyResultListsSchema,
  medleyResultSchema,
  modelPathSchema,
  noQuery,
  oneResultSchema,
  pretrainedPathSchema,
  resultListSchema,
} from '../schemas.js';

type OneQuery = { readonly body: { readonly query: string } };
type Queries = { readonly body: { readonly queries: readonly string[] } };

const one = {
  method: 'POST',
  mostQueries: 1,
  inferenceCalls: ({ body }: OneQuery) => inferenceCallsOf([body.query]),
} as const;
const batch = {
  method: 'POST',
  needsPro: true,
  mostQueries: MAX_BATCH_QUERIES,
  inferenceCalls: ({ body }: Queries) => inferenceCallsOf(body.queries),
} as const;
const query = z.strictObject({ query: querySchema.meta({ description: 'The text.' }) });
const queries = z.strictObject({
  queries: batchQueriesSchema.meta({ description: 'The texts. Results are in their order.' }),
});
const pretrainedFailures: readonly Failure[] = ['not_found', 'model_download'];
const customFailures: readonly Failure[] = ['not_found', 'model_not_ready'];
const onePretrained = z.object({ path: pretrainedPathSchema, query: noQuery, body: query });
const batchPretrained = z.object({ path: pretrainedPathSchema, query: noQuery, body: queries });

/** The interface has no field for the rules behind an answer. */
const documented = ({ rules: _, ...result }: JudgedResult): JudgedResult => result;
const listed = (results: readonly JudgedResult[]) => results.map(documented);
const byName = <Given, Made>(data: Readonly<Record<string, Given>>, change: (each: Given) => Made) =>
  Object.fromEntries(Object.entries(data).map(([name, each]) => [name, change(each)]));

type Response<Data> = InferenceResponse<Data>;
const ofOne = ({ data, metadata }: Response<JudgedResult>) => ({ data: documented(data), metadata });
const ofList = ({ data, metadata }: Response<readonly JudgedResult[]>) => ({ data: listed(data), metadata });
const ofMedley = ({ data, metadata }: Response<Readonly<Record<string, JudgedResult>>>) => ({
  data: byName(data, documented),
  metadata,
});
const ofMedleyLists = ({ data, metadata }: Response<Readonly<Record<string, readonly JudgedResult[]>>>) => ({
  data: byName(data, listed),
  metadata,
});

export const inferenceRoutes: readonly Route[] = [
  route({
    ...one,
    path: '/predictor/language/pre-trained/{model_name}',
    id: 'predictPretrained',
    tag: 'predictor',
    summary: 'Run a pretrained model on a query',
    input: onePretrained,
    output: oneResultSchema,
    failures: pretrainedFailures,
    answer: ({ predictor }, { account, signal }, { path, body }) =>
      orThrow(predictor(account).predictPretrained(path.model_name, body.query, { signal }).map(ofOne)),
  }),
  route({
    ...one,
    path: '/predictor/language/model/{model_id}',
    id: 'predictCustom',
    tag: 'predictor',
    summary: 'Run a custom model on a query',
    input: z.object({ path: modelPathSchema, query: noQuery, body: query }),
    output: oneResultSchema,
    failures: customFailures,
    async answer({ predictor, drift }, { account, signal }, { path, body }) {
      const answered = await orThrow(
        predictor(account).predictCustom(path.model_id, body.query, { signal }).map(ofOne),
      );
      drift?.note(account, answered.metadata.model_id ?? path.model_id, [body.query], [answered.data]);
      return answered;
    },
  }),
  route({
    ...batch,
    path: '/batch-predictor/language/pre-trained/{model_name}',
    id: 'predictPretrainedBatch',
    tag: 'batch predictor',
    summary: 'Run a pretrained model on up to 20 queries',
    input: batchPretrained,
    output: resultListSchema,
    failures: pretrainedFailures,
    answer: ({ predictor }, { account, signal }, { path, body }) =>
      orThrow(predictor(account).predictPretrainedBatch(path.model_name, body.queries, { signal }).map(ofList)),
  }),
  route({
    ...batch,
    path: '/batch-predictor/language/model/{model_id}',
    id: 'predictCustomBatch',
    tag: 'batch predictor',
    summary: 'Run a custom model on up to 20 queries',
    input: z.object({ path: modelPathSchema, query: noQuery, body: queries }),
    output: resultListSchema,
    failures: customFailures,
    async answer({ predictor, drift }, { account, signal }, { path, body }) {
      const { model_id } = path;
      const answered = await orThrow(
        predictor(account).predictCustomBatch(model_id, body.queries, { signal }).map(ofList),
      );
      drift?.note(account, answered.metadata.model_id ?? model_id, body.queries, answered.data);
      return answered;
    },
  }),
  route({
    ...one,
    path: '/medley/language',
    id: 'medley',
    tag: 'medley',
    summary: 'Run up to 11 pretrained models on a query',
    needsPro: true,
    input: z.object({ query: noQuery, body: medleyRequestSchema }),
    output: medleyResultSchema,
    failures: pretrainedFailures,
    answer: ({ medley }, { account, signal }, { body }) =>
      orThrow(medley(account).predict(body, { signal }).map(ofMedley)),
  }),
  route({
    ...batch,
    path: '/medley/language/batch',
    mostQueries: MAX_MEDLEY_QUERIES,
    id: 'medleyBatch',
    tag: 'medley',
    summary: 'Run up to 11 pretrained models on up to 50 queries',
    input: z.object({ query: noQuery, body: medleyBatchRequestSchema }),
    output: medleyResultListsSchema,
    failures: pretrainedFailures,
    answer: ({ medley }, { account, signal }, { body }) =>
      orThrow(medley(account).predictBatch(body, { signal }).map(ofMedleyLists)),
  }),
  route({
    ...batch,
    path: '/medley/language/batch/pre-trained/{model_name}',
    id: 'medleyPretrainedBatch',
    tag: 'medley',
    summary: 'Run a pretrained model on a batch of queries',
    input: batchPretrained,
    output: resultListSchema,
    failures: pretrainedFailures,
    answer: ({ medley }, { account, signal }, { path, body }) =>
      orThrow(medley(account).predictPretrainedBatch(path.model_name, body.queries, { signal }).map(ofList)),
  }),
];
