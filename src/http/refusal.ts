import { isOrchardError, MAX_LISTED_PROBLEMS, type OrchardError, type ValidationProblem } from '../errors.js';

export type RefusalStatus = 400 | 401 | 403 | 404 | 405 | 408 | 409 | 413 | 415 | 422 | 429 | 500 | 502 | 503;

export interface RefusalOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** What there is all the same: of a medley, the answers of the models that did answer. */
  readonly data?: unknown;
  /** What lies beneath a status of 500 and more: for the log, never for the caller. */
  readonly cause?: unknown;
}

/** An answer other than the one asked for. Thrown wherever a request can't go on; the handler answers with it. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly headers: RefusalOptions['headers'];
  readonly data: unknown;

  /** @param detail what is wrong. */
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

/** Where in a request something is wrong: `['body', 'queries', 3]`. */
export type Place = ValidationProblem['loc'];

/** What each error of the library is over HTTP. */
export const statuses = {
  validation: 422,
  dataset: 422,
  download: 422,
  tier: 403,
  not_found: 404,
  model_not_ready: 409,
  transition: 409,
  queue_full: 429,
  overloaded: 503,
  memory_limit: 500,
  deadline: 503,
  aborted: 400, // the caller has gone; nobody reads it
  closed: 503,
  model_download: 502,
  medley: 500,
  model_folder: 500,
  device: 500,
  training: 500,
  storage: 500,
  installation: 500,
  internal: 500,
} as const satisfies Readonly<Record<OrchardError['code'], RefusalStatus>>;

/** Which part of the request an error of the library is about, where the error doesn't say it. */
export interface Places {
  /** What the paths of a ValidationError lie in. */
  readonly input: 'query' | 'body';
  /** What names the model or job that is asked for. */
  readonly subject: Place;
}

/** Of a path that asks nothing of the library. */
const nowhere: Places = { input: 'query', subject: [] };

/** What the library's paths call the model that a request names. */
const MODEL_FIELDS = ['model', 'model_name'];

/** Whatever was thrown, as an answer. Statuses of 500 and more tell nothing of what is inside. */
export function refusalOf(thrown: unknown, places: Places = nowhere): Refusal {
  if (thrown instanceof Refusal) return thrown;
  if (!isOrchardError(thrown)) return unexpected(500, thrown);
  if (thrown.code === 'medley') return medleyRefusal(thrown, places);
  if (thrown.code === 'validation') return invalidArguments(thrown.problems, places);
  if (thrown.code === 'overloaded') return overloaded(thrown.waitingMs);
  if (thrown.code === 'storage' && thrown.isUnavailable) return unavailable(thrown);
  const status = statuses[thrown.code];
  if (status >= 500) return unexpected(status, thrown);
  return new Refusal(status, [{ loc: places.subject, msg: messageOf(thrown), type: thrown.code }]);
}

/** The problems' paths lie in the arguments of a call of the library. */
function invalidArguments(problems: readonly ValidationProblem[], { input, subject }: Places): Refusal {
  // What can't name a model names none: the OpenAPI document takes any text for a name.
  const impossible = problems.find(({ type }) => type === 'model_name');
  if (impossible) return new Refusal(404, [{ loc: subject, msg: impossible.msg, type: 'not_found' }]);
  return invalid(
    problems.map(({ loc, ...problem }) => {
      if (loc[0] === 'idempotencyKey') return { ...problem, loc: ['header', 'idempotency-key'] };
      const isModel = MODEL_FIELDS.includes(String(loc[0]));
      return { ...problem, loc: isModel ? subject : [input, ...loc] };
    }),
  );
}

/** Longest message, in UTF-16 code units: one may quote what was sent. */
const MAX_MESSAGE_LENGTH = 1000;

/** A request that does not validate. Of very many problems, the first are told. */
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

/** Without the hints for who runs the service, which may name its folders. */
function messageOf(error: OrchardError): string {
  if (error.code === 'not_found') return `there is no ${error.resource} ${JSON.stringify(error.id)}`;
  if (error.code === 'model_not_ready') return `model ${error.id} is ${error.status}, not READY`;
  return error.message;
}

/** Names each model that failed; the worst of their statuses counts. */
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

/** Whether an error leaves something to answer with: a medley's, where some models did answer. */
export function hasAnswers(thrown: unknown): boolean {
  return isOrchardError(thrown) && thrown.code === 'medley' && Object.keys(thrown.answers).length > 0;
}

/** The service answers again when what waits has been worked off. */
function overloaded(waitingMs: number): Refusal {
  const msg = 'too many queries are waiting; try again after the seconds that retry-after tells';
  const seconds = Math.max(1, Math.ceil(waitingMs / 1000));
  return new Refusal(503, [{ loc: [], msg, type: 'overloaded' }], {
    headers: { 'retry-after': String(seconds) },
  });
}

/** What keeps the service's data can't be reached for now. */
function unavailable(cause: unknown): Refusal {
  const msg =
    'the service cannot reach its data at the moment; try again after the seconds that retry-after tells';
  return new Refusal(503, [{ loc: [], msg, type: 'unavailable' }], {
    headers: { 'retry-after': String(AWAY_SECONDS) },
    cause,
  });
}

/** A database that is restarted in good order is back after some seconds. */
const AWAY_SECONDS = 2;

/** The answer to what is nobody's fault but ours. */
function unexpected(status: RefusalStatus = 500, cause?: unknown): Refusal {
  const msg = 'the request could not be answered; x-request-id names it in the log';
  return new Refusal(status, [{ loc: [], msg, type: 'server_error' }], { cause });
}
