import type { Context, Hono } from 'hono';
import * as z from 'zod';
import type { Account } from '../contract/index.js';
import { admit } from './admission.js';
import type { Admission } from './admission-options.js';
import type { HandlerEnvironment } from './environment.js';
import { jobStream } from './job-stream.js';
import { addModelFiles, modelFileMethods } from './model-files.js';
import { checked } from './operation.js';
import { pageFiles } from './page-files.js';
import type { PageServices } from './page-services.js';
import { otherType } from './read-body.js';
import { type AllowedMethods, queryOf, type Route, routePath } from './route.js';
import { hasRows } from './row-uploads.js';
import { noQuery } from './schemas.js';
import { outcomeOf, type Services } from './services.js';

export interface PageRouteOptions extends Services, Admission {
  readonly maxUploadBytes?: number;
}

const uploadsRoute: Route = {
  path: '/page/uploads',
  tag: 'page',
  places: { input: 'body', subject: ['body'] },
};
const eventsRoute: Route = {
  path: '/page/training-jobs/{model_id}/events',
  tag: 'page',
  places: { input: 'query', subject: ['path', 'model_id'] },
};

export const pageMethods: AllowedMethods = {
  '/': ['GET'],
  [routePath(uploadsRoute)]: ['POST'],
  [routePath(eventsRoute)]: ['GET'],
  ...modelFileMethods,
};

const ZIP_TYPE = 'application/zip';
const DEFAULT_MAX_UPLOAD_BYTES = 128 * 2 ** 20;
/** As long as Node's server gives a request. */
const UPLOAD_TIMEOUT_MS = 5 * 60_000;

/** What of the page isn't JSON: its files, the upload of a dataset, and the events of a job. */
export function addPageRoutes(
  app: Hono<HandlerEnvironment>,
  page: PageServices,
  options: PageRouteOptions,
): void {
  const { maxUploadBytes: maxBodyBytes = DEFAULT_MAX_UPLOAD_BYTES } = options;
  const limits = { maxBodyBytes, bodyTimeoutMs: UPLOAD_TIMEOUT_MS };
  const { uploads } = page;
  app.post(routePath(uploadsRoute), async (context) => {
    const account = await admitted(context, uploadsRoute, options);
    if (context.req.header('content-type') !== ZIP_TYPE && !hasRows(context.req.raw))
      throw otherType(ZIP_TYPE);
    return context.json({ upload: await uploads.save(account, context.req.raw, limits) });
  });
  app.get(routePath(eventsRoute), async (context) => {
    const account = await admitted(context, eventsRoute, options);
    const id = context.req.param('model_id') ?? '';
    const trainer = options.trainer(account);
    await outcomeOf(trainer.getTrainingJob(id)); // a 404 rather than a stream that fails at once
    return jobStream(context, trainer, id);
  });
  addModelFiles(app, page, (context, route) => admitted(context, route, options));
  app.route('/', pageFiles());
}

const withoutQuery = z.object({ query: noQuery });

async function admitted(
  context: Context<HandlerEnvironment>,
  route: Route,
  admission: Admission,
): Promise<Account> {
  const account = await admit(context, route, admission);
  checked(withoutQuery, { query: queryOf(context.req.raw) });
  return account;
}
