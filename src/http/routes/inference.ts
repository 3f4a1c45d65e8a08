import * as z from 'zod';
import {
  batchQueriesSchema,
  medleyBatchRequestSchema,
  medleyRequestSchema,
  querySchema,
} from '../../contract/index.js';
import { outcomeOf } from '../refusal.js';
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

const query = z.strictObject({ query: querySchema });
const queries = z.strictObject({ queries: batchQueriesSchema });

const pretrainedFailures: readonly Failure[] = ['not_found', 'model_download'];
const customFailures: readonly Failure[] = ['not_found', 'model_not_ready'];

export const inferenceRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/predictor/language/pre-trained/{model_name}',
    id: 'predictPretrained',
    tag: 'predictor',
    summary: 'One query to a pretrained model',
    input: z.object({ path: pretrainedPathSchema, query: noQuery, body: query }),
    output: oneResultSchema,
    failures: pretrainedFailures,
    inferenceCalls: ({ body }) => inferenceCallsOf([body.query]),
    answer: ({ predictor }, { account, signal }, { path, body }) =>
      outcomeOf(predictor(account).predictPretrained(path.model_name, body.query, { signal })),
  }),
  route({
    method: 'POST',
    path: '/predictor/language/model/{model_id}',
    id: 'predictCustom',
    tag: 'predictor',
    summary: 'One query to a custom model',
    input: z.object({ path: modelPathSchema, query: noQuery, body: query }),
    output: oneResultSchema,
    failures: customFailures,
    inferenceCalls: ({ body }) => inferenceCallsOf([body.query]),
    answer: ({ predictor }, { account, signal }, { path, body }) =>
      outcomeOf(predictor(account).predictCustom(path.model_id, body.query, { signal })),
  }),
  route({
    method: 'POST',
    path: '/batch-predictor/language/pre-trained/{model_name}',
    id: 'predictPretrainedBatch',
    tag: 'batch predictor',
    summary: 'Up to 20 queries to a pretrained model',
    needsPro: true,
    input: z.object({ path: pretrainedPathSchema, query: noQuery, body: queries }),
    output: resultListSchema,
    failures: pretrainedFailures,
    inferenceCalls: ({ body }) => inferenceCallsOf(body.queries),
    answer: ({ predictor }, { account, signal }, { path, body }) =>
      outcomeOf(predictor(account).predictPretrainedBatch(path.model_name, body.queries, { signal })),
  }),
  route({
    method: 'POST',
    path: '/batch-predictor/language/model/{model_id}',
    id: 'predictCustomBatch',
    tag: 'batch predictor',
    summary: 'Up to 20 queries to a custom model',
    needsPro: true,
    input: z.object({ path: modelPathSchema, query: noQuery, body: queries }),
    output: resultListSchema,
    failures: customFailures,
    inferenceCalls: ({ body }) => inferenceCallsOf(body.queries),
    answer: ({ predictor }, { account, signal }, { path, body }) =>
      outcomeOf(predictor(account).predictCustomBatch(path.model_id, body.queries, { signal })),
  }),
  route({
    method: 'POST',
    path: '/medley/language',
    id: 'medley',
    tag: 'medley',
    summary: 'One query to up to 11 pretrained models',
    needsPro: true,
    input: z.object({ query: noQuery, body: medleyRequestSchema }),
    output: medleyResultSchema,
    failures: pretrainedFailures,
    inferenceCalls: ({ body }) => inferenceCallsOf([body.query]),
    answer: ({ medley }, { account, signal }, { body }) =>
      outcomeOf(medley(account).predict(body, { signal })),
  }),
  route({
    method: 'POST',
    path: '/medley/language/batch',
    id: 'medleyBatch',
    tag: 'medley',
    summary: 'Up to 50 queries to up to 11 pretrained models',
    needsPro: true,
    input: z.object({ query: noQuery, body: medleyBatchRequestSchema }),
    output: medleyResultListsSchema,
    failures: pretrainedFailures,
    inferenceCalls: ({ body }) => inferenceCallsOf(body.queries),
    answer: ({ medley }, { account, signal }, { body }) =>
      outcomeOf(medley(account).predictBatch(body, { signal })),
  }),
  route({
    method: 'POST',
    path: '/medley/language/batch/pre-trained/{model_name}',
    id: 'medleyPretrainedBatch',
    tag: 'medley',
    summary: 'A batch of queries to a pretrained model',
    needsPro: true,
    input: z.object({ path: pretrainedPathSchema, query: noQuery, body: queries }),
    output: resultListSchema,
    failures: pretrainedFailures,
    inferenceCalls: ({ body }) => inferenceCallsOf(body.queries),
    answer: ({ medley }, { account, signal }, { path, body }) =>
      outcomeOf(medley(account).predictPretrainedBatch(path.model_name, body.queries, { signal })),
  }),
];
