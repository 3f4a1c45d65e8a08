import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { MAX_LISTED_PROBLEMS, type OrchardError, type ValidationProblem } from '../errors.js';
import type { JobError } from '../trainer/index.js';
import type { HandlerEnvironment } from './environment.js';

export type RefusalStatus = Extract<
  ContentfulStatusCode,
  400 | 401 | 403 | 404 | 405 | 408 | 409 | 413 | 415 | 422 | 429 | 500 | 502 | 503
>;

/** An answer other than the one asked for, with what is wrong as the documented `detail`. */
export interface Refusal {
  readonly status: RefusalStatus;
  readonly detail: readonly ValidationProblem[];
  readonly headers?: Readonly<Record<string, string>>;
  /** What there is all the same: of a medley, the answers of the models that did answer. */
  readonly data?: unknown;
  /** What lies beneath a status of 500 and more: for the log, never for the caller. */
  readonly cause?: unknown;
}

/** Where in a request something is wrong: `['body', 'queries', 3]`. */
export type Place = ValidationProblem['loc'];

export function refusal(
  status: RefusalStatus,
  problem: ValidationProblem,
  headers?: Readonly<Record<string, string>>,
): Refusal {
  return { status, detail: [problem], ...(headers && { headers }) };
}

/** Answers with a refusal; what lies beneath it goes to the log. */
export function refuse(
  context: Context<HandlerEnvironment>,
  { status, detail, cause, data, headers }: Refusal,
): Response {
  if (cause !== undefined) context.set('failure', cause);
  return context.json({ detail, ...(data !== undefined && { data }) }, status, headers);
}

const statuses: Readonly<Record<OrchardError['code'], RefusalStatus>> = {
  validation: 422,
  dataset: 422,
  download: 422,
  tier: 403,
  not_found: 404,
  model_not_ready: 409,
  transition: 409,
  queue_full: 429,
  aborted: 400, // the caller has gone; nobody reads it
  closed: 503,
  model_download: 502,
  medley: 500,
  model_folder: 500,
  training: 500,
  storage: 500,
  internal: 500,
};

/** Which part of the request an error is about, where the error doesn't say it. */
export interface Places {
  /** What the paths of a ValidationError lie in. */
  readonly input: 'query' | 'body';
  /** What names the model or job that is asked for. */
  readonly subject: Place;
}

/** What the library's paths call the model that a request names. */
const MODEL_FIELDS = ['model', 'model_name'];

/** An error of the library as an answer. Statuses of 500 and more tell nothing of what is inside. */
export function refusalOf(error: OrchardError, places: Places): Refusal {
  if (error.code === 'medley') return medleyRefusal(error, places);
  const status = statuses[error.code];
  if (status >= 500) return { ...unexpected(status), cause: error };
  if (error.code !== 'validation') {
    return refusal(status, { loc: places.subject, msg: messageOf(error), type: error.code });
  }
  // What can't name a model names none: the OpenAPI document takes any text for a name.
  const impossible = error.problems.find(({ type }) => type === 'model_name');
  if (impossible) return refusal(404, { loc: places.subject, msg: impossible.msg, type: 'not_found' });
  return invalid(
    error.problems.map(({ loc, ...problem }) => {
      const isModel = MODEL_FIELDS.includes(String(loc[0]));
      return { ...problem, loc: isModel ? places.subject : [places.input, ...loc] };
    }),
  );
}

/** Longest message, in UTF-16 code units: one may quote what was sent. */
const MAX_MESSAGE_LENGTH = 1000;

/** A request that does not validate. Of very many problems, the first are told. */
export function invalid(problems: readonly ValidationProblem[]): Refusal {
  const listed = problems.slice(0, MAX_LISTED_PROBLEMS);
  return { status: 422, detail: listed.map(({ msg, ...each }) => ({ ...each, msg: shortened(msg) })) };
}

function shortened(msg: string): string {
  return msg.length > MAX_MESSAGE_LENGTH ? `${msg.slice(0, MAX_MESSAGE_LENGTH)}…` : msg;
}

/** Without the hints for who runs the service, which may name its folders. */
function messageOf(error: OrchardError): string {
  if (error.code === 'not_found') return `there is no ${error.resource} ${JSON.stringify(error.id)}`;
  if (error.code === 'model_not_ready') return `model ${error.id} is ${error.status}, not READY`;
  return error.message;
}

/** Of a job that went on when the upload that it trains on had been removed. */
const UPLOAD_GONE = 'the uploaded dataset is no longer there; upload it again for a new job';

/** What is told of why a job failed: nothing of what is inside. */
export function describeJobError({ code, message }: JobError): { code: string; message: string } {
  if (code === 'download' && message.startsWith('dataset_url file:')) return { code, message: UPLOAD_GONE };
  const isInside = ['storage', 'internal', 'model_folder', 'model_download'].includes(code);
  return { code, message: isInside ? 'the service failed; its log may tell more' : message };
}

/** Names each model that failed; the worst of their statuses counts. */
function medleyRefusal(error: Extract<OrchardError, { code: 'medley' }>, places: Places): Refusal {
  const refusals = Object.entries(error.failures).map(([name, failure]) => {
    const subject = ['body', 'models', name];
    const { status, detail } = refusalOf(failure, { ...places, subject });
    return { status, detail: detail.map((problem) => ({ ...problem, loc: subject })) };
  });
  const [{ status } = unexpected()] = refusals.toSorted((a, b) => b.status - a.status);
  const detail = refusals.flatMap((each) => each.detail);
  const hasAnswers = Object.keys(error.answers).length > 0;
  return {
    status,
    detail,
    ...(hasAnswers && { data: error.answers }),
    ...(status >= 500 && { cause: error }),
  };
}

/** The answer to what is nobody's fault but ours. */
export function unexpected(status: RefusalStatus = 500): Refusal {
  const msg = 'the request could not be answered; x-request-id names it in the log';
  return refusal(status, { loc: [], msg, type: 'server_error' });
}
