import type { Context, Hono } from 'hono';
import type { Result } from 'neverthrow';
import type { Account } from '../contract/index.js';
import { type Admission, admit } from './admission.js';
import type { HandlerEnvironment } from './environment.js';
import { jobStream } from './job-stream.js';
import { pageFiles } from './page-files.js';
import type { PageServices } from './page-services.js';
import { type Refusal, refusal, refusalOf, refuse } from './refusal.js';
import type { Services } from './services.js';

export interface PageRouteOptions extends Services, Admission {
  readonly maxUploadBytes?: number;
}

const UPLOADS = '/page/uploads';
const EVENTS = '/page/training-jobs/:model_id/events';

/** The method of each path here. */
export const pageMethods: Readonly<Record<string, string>> = {
  '/': 'GET',
  [UPLOADS]: 'POST',
  [EVENTS]: 'GET',
};

const DEFAULT_MAX_UPLOAD_BYTES = 128 * 2 ** 20;
/** As long as Node's server gives a request. */
const UPLOAD_TIMEOUT_MS = 5 * 60_000;

/** What of the page isn't JSON: its files, the upload of a dataset, and the events of a job. */
export function addPageRoutes(
  app: Hono<HandlerEnvironment>,
  { uploads }: PageServices,
  options: PageRouteOptions,
): void {
  const { maxUploadBytes: maxBodyBytes = DEFAULT_MAX_UPLOAD_BYTES } = options;
  app.post(UPLOADS, async (context) => {
    context.set('route', UPLOADS);
    const account = await admitted(context, options);
    if (account.isErr()) return refuse(context, account.error);
    if (context.req.header('content-type') !== 'application/zip') return refuse(context, notZipType);
    const limits = { maxBodyBytes, bodyTimeoutMs: UPLOAD_TIMEOUT_MS };
    const saved = await uploads.save(account.value, context.req.raw, limits);
    return saved.match(
      (upload) => context.json({ upload }),
      (refused) => refuse(context, refused),
    );
  });
  app.get(EVENTS, async (context) => {
    context.set('route', '/page/training-jobs/{model_id}/events');
    const account = await admitted(context, options);
    if (account.isErr()) return refuse(context, account.error);
    const trainer = options.trainer(account.value);
    const id = context.req.param('model_id');
    const job = await trainer.getTrainingJob(id);
    return job.match(
      () => jobStream(context, trainer, id),
      (error) => refuse(context, refusalOf(error, { input: 'query', subject: ['path', 'model_id'] })),
    );
  });
  app.route('/', pageFiles());
}

async function admitted(
  context: Context<HandlerEnvironment>,
  admission: Admission,
): Promise<Result<Account, Refusal>> {
  const operation = { tag: 'page', subject: ['path'] } as const;
  const account = await admit(context.req.raw, context.env, operation, admission);
  if (account.isOk()) context.set('account', account.value);
  return account;
}

const notZipType = refusal(415, {
  loc: ['header', 'content-type'],
  msg: 'send the zip as content-type: application/zip',
  type: 'content_type',
});
