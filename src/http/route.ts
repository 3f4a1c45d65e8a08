import type { Context } from 'hono';
import type { RequestIdVariables } from 'hono/request-id';
import type * as z from 'zod';
import { type Account, isOrchardError, validate } from '../contract/index.js';
import type { Held } from './account-limits.js';
import { type Quota, withinQuota } from './quota.js';
import { hasAnswers, invalid, type Place, type Places } from './refusal.js';
import type { Services } from './services.js';

/** What a route consists of. A new route is an entry in a file of routes/. */

/** What a server knows about a request in addition to the request itself. */
export interface Connection {
  /** The IP address of the client. */
  readonly remoteAddress?: string | undefined;
  /** Called when the request is refused and the refusal waits. Until it goes out, the connection may be closed for others. */
  readonly onRefused?: (() => void) | undefined;
}

export interface HandlerEnvironment {
  readonly Bindings: Connection;
  readonly Variables: RequestIdVariables & {
    /** Absent for paths without an API key. */
    route?: Route;
    account?: Account;
    /** Calls that were answered; absent if no model ran. */
    inferenceCalls?: number;
    /** The cause of a status of 500 or more. */
    failure?: unknown;
  };
}

/** The parts of a request that a route reads; `query: noQuery` for a route without a query string. */
type InputSchema = z.ZodObject<{
  path?: z.ZodObject;
  query: z.ZodObject;
  /** Names in lower case. Other headers are ignored. */
  header?: z.ZodObject;
  body?: z.ZodType;
}>;

interface RawInput {
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

interface Caller {
  readonly account: Account;
  /** Fires when the client has gone. */
  readonly signal: AbortSignal;
  readonly context: Context<HandlerEnvironment>;
}

/** Errors of the library that a route can fail with, in addition to those of every route. */
export type Failure =
  | 'tier'
  | 'not_found'
  | 'model_not_ready'
  | 'model_in_use'
  | 'rollback'
  | 'transition'
  | 'queue_full'
  | 'model_download';

interface Definition<Input extends InputSchema> {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** With the names of its parameters: `/trainer/language/models/{model_id}`. */
  readonly path: `/${string}`;
  readonly id: string;
  readonly tag: 'trainer' | 'predictor' | 'batch predictor' | 'medley' | 'versions' | 'page' | 'operator';
  readonly summary: string;
  readonly needsPro?: true;
  readonly input: Input;
  readonly output?: z.ZodType;
  readonly failures?: readonly Failure[];
  /** What the request holds of its account's limits. Default: requests. */
  readonly holds?: Held;
  /** The most queries that its body can have. Default 0. */
  readonly mostQueries?: number;
  /** What the request counts for a quota, if models run: each query of a batch is a call, a long query several. */
  readonly inferenceCalls?: (input: z.infer<Input>) => number;
  /** Calls the library with the valid input. @returns the JSON answer, or a response of another kind */
  readonly answer: (services: Services, caller: Caller, input: z.infer<Input>) => Promise<object>;
}

export interface Route extends Omit<Definition<InputSchema>, 'answer' | 'inferenceCalls'> {
  readonly places: Places;
  readonly runsModels: boolean;
  /** Checks the input, counts for the quota, and answers. @throws Refusal, OrchardError */
  readonly handle: (
    services: Services & { readonly quota?: Quota },
    caller: Caller,
    input: RawInput,
  ) => Promise<object>;
}

export function route<Input extends InputSchema>({ answer, inferenceCalls, ...definition }: Definition<Input>): Route {
  const { input, path, method } = definition;
  const parameter = /\{(\w+)\}/.exec(path)?.[1];
  const subject: Place = parameter === undefined ? ['body'] : ['path', parameter];
  return {
    ...definition,
    places: { input: method === 'POST' ? 'body' : 'query', subject },
    runsModels: inferenceCalls !== undefined,
    async handle(services, caller, raw) {
      const { account, context } = caller;
      const valid = checked(input, raw);
      const calls = inferenceCalls?.(valid) ?? 0;
      const count = () => calls > 0 && context.set('inferenceCalls', calls);
      try {
        const answered = await withinQuota(services.quota, account, calls, () => answer(services, caller, valid));
        count();
        return answered;
      } catch (thrown) {
        if (hasAnswers(thrown)) count();
        throw thrown;
      }
    },
  };
}

/** The places of these problems are already those in the request, unlike in errors of the library. */
function checked<Schema extends z.ZodType>(schema: Schema, request: object): z.infer<Schema> {
  try {
    return validate(schema, request);
  } catch (thrown) {
    throw isOrchardError(thrown) && thrown.code === 'validation' ? invalid(thrown.problems) : thrown;
  }
}
