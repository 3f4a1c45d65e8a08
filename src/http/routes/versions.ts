import type { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import { type ModelVersion, type OrchardError, orThrow } from '../../contract/index.js';
import { refusalOf } from '../refusal.js';
import { type Route, route } from '../route.js';
import { noQuery } from '../schemas.js';
import type { VersionsOf } from '../services.js';

/** Names that point to models (docs/versions.md). Not in the OpenAPI document, which describes the given interface. */

const path = z.object({ version: z.string() });
const one = z.object({ path, query: noQuery });
const modelBody = z.object({ path, query: noQuery, body: z.strictObject({ model_id: z.string() }) });
// Required here, so that a request whose answer was lost can be repeated.
const rollbackBody = z.object({ path, query: noQuery, body: z.strictObject({ from: z.string() }) });

export function versionRoutes(versions: VersionsOf): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/versions',
      id: 'listVersions',
      tag: 'versions',
      summary: 'Names that point to custom models',
      input: z.object({ query: noQuery }),
      answer: async (_, { account }) => ({ data: await orThrow(versions(account).list()) }),
    }),
    route({
      method: 'GET',
      path: '/versions/{version}',
      id: 'getVersion',
      tag: 'versions',
      summary: 'What a name points to, its history and its shadow',
      input: one,
      failures: ['not_found'],
      answer: (_, { account }, { path }) => dataOf(versions(account).get(path.version)),
    }),
    route({
      method: 'DELETE',
      path: '/versions/{version}',
      id: 'deleteVersion',
      tag: 'versions',
      summary: 'Delete a name; its models stay',
      input: one,
      failures: ['not_found'],
      answer: async (_, { account }, { path: { version } }) => {
        await orThrow(versions(account).delete(version));
        return { detail: [{ loc: ['path', 'version'], msg: `${version} is deleted`, type: 'version.deleted' }] };
      },
    }),
    route({
      method: 'POST',
      path: '/versions/{version}/promote',
      id: 'promoteVersion',
      tag: 'versions',
      summary: 'Point a name to a model; creates the name if it is new',
      input: modelBody,
      failures: ['not_found', 'model_not_ready'],
      answer: (_, { account }, { path, body }) => dataOf(versions(account).promote(path.version, body.model_id)),
    }),
    route({
      method: 'POST',
      path: '/versions/{version}/rollback',
      id: 'rollBackVersion',
      tag: 'versions',
      summary: 'Point a name to the model that it pointed to before',
      input: rollbackBody,
      failures: ['not_found', 'rollback'],
      answer: (_, { account }, { path, body }) => dataOf(versions(account).rollBack(path.version, body)),
    }),
    route({
      method: 'POST',
      path: '/versions/{version}/shadow',
      id: 'setShadow',
      tag: 'versions',
      summary: 'Compare the answers of a second model',
      input: modelBody,
      failures: ['not_found', 'model_not_ready'],
      answer: (_, { account }, { path, body }) => dataOf(versions(account).setShadow(path.version, body.model_id)),
    }),
    route({
      method: 'DELETE',
      path: '/versions/{version}/shadow',
      id: 'clearShadow',
      tag: 'versions',
      summary: 'End the comparison',
      input: one,
      failures: ['not_found'],
      answer: (_, { account }, { path }) => dataOf(versions(account).clearShadow(path.version)),
    }),
  ];
}

async function dataOf(call: ResultAsync<ModelVersion, OrchardError>): Promise<{ readonly data: ModelVersion }> {
  const result = await call;
  if (result.isOk()) return { data: result.value };
  const { error } = result;
  const isAboutModel = error.code === 'model_not_ready' || (error.code === 'not_found' && error.resource === 'model');
  throw isAboutModel ? refusalOf(error, { input: 'body', subject: ['body', 'model_id'] }) : error;
}
