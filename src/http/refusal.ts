import {
  inMessage,
  isOrchardError,
  MAX_LISTED_PROBLEMS,
  type OrchardError,
  type ValidationProblem,
} from '../contract/index.js';
import { counted } from '../datasets/index.js';

export type RefusalStatus = 400 | 401 | 403 | 404 | 405 | 408 | 409 | 413 | 415 | 422 | 429 | 500 | 502 | 503;

interface RefusalOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** A partial result: the answers of a medley's models that did not fail. */
  readonly data?: unknown;
  /** The cause of a status of 500 or more: for the log, never for the caller. */
  readonly cause?: unknown;
}

/** An answer other than a success. Thrown anywhere in a request; the handler answers with it. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly headers: RefusalOptions['headers'];
  readonly data: unknown;

  constructor(
    readonly status: RefusalStatus,
    readonly detail: readonly ValidationProblem[],
    { headers, data, cause }: RefusalOptions = {},
  ) {
    super(detail.map(({ msg }) => msg).join('; '), { cause });
    this.headers = headers;
    this.data = data;
  }
}

/** A path into a request: `['body', 'queries', 3]`. */
export type Place = ValidationProblem['loc'];

export const statuses = {
  validation: 422,
  dataset: 422,
  download: 422,
  tier: 403,
  not_found: 404,
  model_not_ready: 409,
  model_in_use: 409,
  rollback: 409,
  transition: 409,
  queue_full: 429,
  overloaded: 503,
  memory_limit: 500,
  deadline: 503,
  aborted: 400, // the caller has gone, so it is never read
  closed: 503,
  model_download: 502,
  medley: 500,
  model_folder: 500,
  device: 500,
  training: 500,
  teacher: 500,
  storage: 500,
  installation: 500,
  internal: 500,
} as const satisfies Readonly<Record<OrchardError['code'], RefusalStatus>>;

/** The part of the request that an error of the library is about, if the error does not say it. */
export interface Places {
  /** What the paths of a ValidationError are relative to. */
  readonly input: 'query' | 'body';
  readonly subject: Place;
}

const nowhere: Places = { input: 'query', subject: [] };

/** A database that restarts is usually back after some seconds. */
const RESTART_SECONDS = 2;

/** What the library's paths call the model in a request. */
const MODEL_FIELDS = ['model', 'model_name', 'version'];

/** Anything thrown, as an answer. Statuses of 500 or more say nothing about the service's internals. */
export function refusalOf(thrown: unknown, places: Places = nowhere): Refusal {
  if (thrown instanceof Refusal) return thrown;
  if (!isOrchardError(thrown)) return unexpected(500, thrown);
  if (thrown.code === 'medley') return medleyRefusal(thrown, places);
  if (thrown.code === 'validation') return invalidArguments(thrown.problems, places);
  if (thrown.code === 'overloaded') {
    const seconds = Math.max(1, Math.ceil(thrown.waitingMs / 1000));
    if (thrown.limit === 'account') return tooManyWaiting(thrown.waiting, seconds);
    return retryLater('overloaded', 'too many queries are waiting', seconds);
  }
  if (thrown.code === 'storage' && thrown.isUnavailable) {
    return retryLater('unavailable', 'the data of the service is unavailable', RESTART_SECONDS, thrown);
  }
  const status = statuses[thrown.code];
  if (status >= 500) return unexpected(status, thrown);
  return new Refusal(status, [{ loc: places.subject, msg: messageOf(thrown), type: thrown.code }]);
}

/** The problems' paths are relative to the arguments of a call of the library. */
function invalidArguments(problems: readonly ValidationProblem[], { input, subject }: Places): Refusal {
  // A name that no model can have is not found: the OpenAPI document allows any text.
  const impossible = problems.find(({ type }) => type === 'model_name');
  if (impossible) return new Refusal(404, [{ loc: subject, msg: impossible.msg, type: 'not_found' }]);
  return invalid(
    problems.map(({ loc, msg, type }) => {
      const problem = { msg: forClients(msg), type };
      if (loc[0] === 'idempotencyKey') return { ...problem, loc: ['header', 'idempotency-key'] };
      const isModel = MODEL_FIELDS.includes(String(loc[0]));
      return { ...problem, loc: isModel ? subject : [input, ...loc] };
    }),
  );
}

/** In UTF-16 code units; a message may quote the request. */
const MAX_MESSAGE_LENGTH = 1000;

/** A request that does not validate. Lists the first problems if there are many. */
export function invalid(problems: readonly ValidationProblem[]): Refusal {
  const listed = problems.slice(0, MAX_LISTED_PROBLEMS);
  return new Refusal(
    422,
    listed.map(({ msg, ...each }) => ({ ...each, msg: shortened(msg) })),
  );
}

function shortened(msg: string): string {
  return msg.length > MAX_MESSAGE_LENGTH ? `${msg.slice(0, MAX_MESSAGE_LENGTH)}…` : msg;
}

/** Without the hints for operators, which may name folders. */
function messageOf(error: OrchardError): string {
  if (error.code === 'not_found') return `there is no ${error.resource} ${JSON.stringify(error.id)}`;
  if (error.code === 'model_not_ready') {
    const { id, status } = error;
    return status === 'READY'
      ? `the files of model ${id} are missing; train it again`
      : `model ${id} is ${status}, not READY`;
  }
  return forClients(error.message);
}

/** The message without advice about options, which only the service's operator can set. */
export function forClients(message: string): string {
  return inMessage(message, () => undefined);
}

/** Names each model that failed, with the worst of their statuses. */
function medleyRefusal(error: Extract<OrchardError, { code: 'medley' }>, places: Places): Refusal {
  const refusals = Object.entries(error.failures).map(([name, failure]) => {
    const subject = ['body', 'models', name];
    const { status, detail } = refusalOf(failure, { ...places, subject });
    return { status, detail: detail.map((problem) => ({ ...problem, loc: subject })) };
  });
  const [{ status } = unexpected()] = refusals.toSorted((a, b) => b.status - a.status);
  return new Refusal(
    status,
    refusals.flatMap(({ detail }) => detail),
    {
      ...(hasAnswers(error) && { data: error.answers }),
      ...(status >= 500 && { cause: error }),
    },
  );
}

/** Whether an error has a partial result: a medley's, if some models answered. */
export function hasAnswers(thrown: unknown): boolean {
  return isOrchardError(thrown) && thrown.code === 'medley' && Object.keys(thrown.answers).length > 0;
}

export const TRY_AGAIN = 'try again after the number of seconds in the header retry-after';

function tooManyWaiting(waiting: number, seconds: number): Refusal {
  const queries = counted(waiting, 'query of this account is', 'queries of this account are');
  const msg = `${queries} waiting; ${TRY_AGAIN}`;
  const detail = [{ loc: ['header', 'x-api-key'], msg, type: 'open_waiting' }];
  return new Refusal(429, detail, { headers: { 'retry-after': String(seconds) } });
}

function retryLater(type: string, problem: string, seconds: number, cause?: unknown): Refusal {
  const detail = [{ loc: [], msg: `${problem}; ${TRY_AGAIN}`, type }];
  return new Refusal(503, detail, { headers: { 'retry-after': String(seconds) }, cause });
}

function unexpected(status: RefusalStatus = 500, cause?: unknown): Refusal {
  const msg = 'the request could not be answered; find it in the log by its x-request-id';
  return new Refusal(status, [{ loc: [], msg, type: 'server_error' }], { cause });
}
