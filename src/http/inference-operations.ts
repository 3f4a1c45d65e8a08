import * as z from 'zod';
import {
  batchQueriesSchema,
  medleyBatchRequestSchema,
  medleyRequestSchema,
  querySchema,
} from '../contract/index.js';
import { type Operation, operation } from './operation.js';
import {
  medleyResultListsSchema,
  medleyResultSchema,
  modelPathSchema,
  oneResultSchema,
  pretrainedPathSchema,
  resultListSchema,
} from './schemas.js';

const query = z.strictObject({ query: querySchema });
const queries = z.strictObject({ queries: batchQueriesSchema });

export const inferenceOperations: readonly Operation[] = [
  operation({
    method: 'POST',
    path: '/predictor/language/pre-trained/{model_name}',
    id: 'predictPretrained',
    tag: 'predictor',
    summary: 'One query to a pretrained model',
    input: z.object({ path: pretrainedPathSchema, body: query }),
    output: oneResultSchema,
    inferenceCalls: () => 1,
    answer: ({ predictor }, { account, signal }, { path, body }) =>
      predictor(account).predictPretrained(path.model_name, body.query, { signal }),
  }),
  operation({
    method: 'POST',
    path: '/predictor/language/model/{model_id}',
    id: 'predictCustom',
    tag: 'predictor',
    summary: 'One query to a custom model',
    input: z.object({ path: modelPathSchema, body: query }),
    output: oneResultSchema,
    inferenceCalls: () => 1,
    answer: ({ predictor }, { account, signal }, { path, body }) =>
      predictor(account).predictCustom(path.model_id, body.query, { signal }),
  }),
  operation({
    method: 'POST',
    path: '/batch-predictor/language/pre-trained/{model_name}',
    id: 'predictPretrainedBatch',
    tag: 'batch predictor',
    summary: 'Up to 20 queries to a pretrained model',
    needsPro: true,
    input: z.object({ path: pretrainedPathSchema, body: queries }),
    output: resultListSchema,
    inferenceCalls: ({ body }) => body.queries.length,
    answer: ({ predictor }, { account, signal }, { path, body }) =>
      predictor(account).predictPretrainedBatch(path.model_name, body.queries, { signal }),
  }),
  operation({
    method: 'POST',
    path: '/batch-predictor/language/model/{model_id}',
    id: 'predictCustomBatch',
    tag: 'batch predictor',
    summary: 'Up to 20 queries to a custom model',
    needsPro: true,
    input: z.object({ path: modelPathSchema, body: queries }),
    output: resultListSchema,
    inferenceCalls: ({ body }) => body.queries.length,
    answer: ({ predictor }, { account, signal }, { path, body }) =>
      predictor(account).predictCustomBatch(path.model_id, body.queries, { signal }),
  }),
  operation({
    method: 'POST',
    path: '/medley/language',
    id: 'medley',
    tag: 'medley',
    summary: 'One query to up to 11 pretrained models',
    needsPro: true,
    input: z.object({ body: medleyRequestSchema }),
    output: medleyResultSchema,
    inferenceCalls: () => 1,
    answer: ({ medley }, { account, signal }, { body }) => medley(account).predict(body, { signal }),
  }),
  operation({
    method: 'POST',
    path: '/medley/language/batch',
    id: 'medleyBatch',
    tag: 'medley',
    summary: 'Up to 50 queries to up to 11 pretrained models',
    needsPro: true,
    input: z.object({ body: medleyBatchRequestSchema }),
    output: medleyResultListsSchema,
    inferenceCalls: ({ body }) => body.queries.length,
    answer: ({ medley }, { account, signal }, { body }) => medley(account).predictBatch(body, { signal }),
  }),
  operation({
    method: 'POST',
    path: '/medley/language/batch/pre-trained/{model_name}',
    id: 'medleyPretrainedBatch',
    tag: 'medley',
    summary: 'A batch of queries to a pretrained model',
    needsPro: true,
    input: z.object({ path: pretrainedPathSchema, body: queries }),
    output: resultListSchema,
    inferenceCalls: ({ body }) => body.queries.length,
    answer: ({ medley }, { account, signal }, { path, body }) =>
      medley(account).predictPretrainedBatch(path.model_name, body.queries, { signal }),
  }),
];
