import { MAX_LISTED_PROBLEMS, type OrchardError, type ValidationProblem } from '../errors.js';
import type { JobError } from '../trainer/index.js';

/** An answer other than the one asked for, with what is wrong as the documented `detail`. */
export interface Refusal {
  readonly status: number;
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
  status: number,
  problem: ValidationProblem,
  headers?: Readonly<Record<string, string>>,
): Refusal {
  return { status, detail: [problem], ...(headers && { headers }) };
}

const statuses: Readonly<Record<OrchardError['code'], number>> = {
  validation: 422,
  dataset: 422,
  download: 422,
  tier: 403,
  not_found: 404,
  model_not_ready: 409,
  transition: 409,
  queue_full: 429,
  aborted: 499, // the caller has gone; nobody reads it
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
  return invalid(
    error.problems.map(({ loc, ...problem }) => {
      const isModel = MODEL_FIELDS.includes(String(loc[0]));
      return { ...problem, loc: isModel ? places.subject : [places.input, ...loc] };
    }),
  );
}

/** A request that does not validate. Of very many problems, the first are told. */
export function invalid(problems: readonly ValidationProblem[]): Refusal {
  return { status: 422, detail: problems.slice(0, MAX_LISTED_PROBLEMS) };
}

/** Without the hints for who runs the service, which may name its folders. */
function messageOf(error: OrchardError): string {
  if (error.code === 'not_found') return `there is no ${error.resource} ${JSON.stringify(error.id)}`;
  if (error.code === 'model_not_ready')
    return `model ${error.id} is ${error.status}; only a READY one answers`;
  return error.message;
}

/** What is told of why a job failed: nothing of what is inside. */
export function describeJobError({ code, message }: JobError): { code: string; message: string } {
  const isInside = ['storage', 'internal', 'model_folder', 'model_download'].includes(code);
  return { code, message: isInside ? 'the service failed; its log may tell more' : message };
}

/** Names each model that failed; the worst of their statuses counts. */
function medleyRefusal(error: Extract<OrchardError, { code: 'medley' }>, places: Places): Refusal {
  const refusals = Object.entries(error.failures).map(([name, failure]) =>
    refusalOf(failure, { ...places, subject: ['body', 'models', name] }),
  );
  return {
    status: Math.max(...refusals.map(({ status }) => status)),
    detail: refusals.flatMap(({ detail }) => detail),
    data: error.answers,
    cause: error,
  };
}

/** The answer to what is nobody's fault but ours. */
export function unexpected(status = 500): Refusal {
  const msg = 'the request could not be answered; x-request-id names it in the log';
  return refusal(status, { loc: [], msg, type: 'server_error' });
}

export function refusalResponse({ status, detail, headers, data }: Refusal): Response {
  const body = { detail, ...(data !== undefined && { data }) };
  return Response.json(body, { status, ...(headers && { headers }) });
}
