import type * as z from 'zod';
import { type Account, validate } from '../contract/index.js';
import { isOrchardError } from '../errors.js';
import { invalid, type Place } from './refusal.js';
import type { Route } from './route.js';
import type { Services } from './services.js';

/** The parts of a request that an operation reads; {@link noQuery} for one that takes no query string. */
type InputSchema = z.ZodObject<{
  path?: z.ZodObject;
  query: z.ZodObject;
  /** By their names in lower case; others are ignored. */
  header?: z.ZodObject;
  body?: z.ZodType;
}>;

/** Who asks, and for whom there may be nobody left to answer. */
export interface Caller {
  readonly account: Account;
  readonly signal: AbortSignal;
}

/** What a request brings, unchecked. */
export interface RawInput {
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  /** Only for an operation that reads headers. */
  readonly header?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** How the library may fail at an operation, beside what any call of it may: by the codes of its errors. */
export type Failure =
  | 'tier'
  | 'not_found'
  | 'model_not_ready'
  | 'transition'
  | 'queue_full'
  | 'model_download';

interface Definition<Input extends InputSchema> extends Omit<Route, 'places'> {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Its name in the OpenAPI document. */
  readonly id: string;
  readonly summary: string;
  readonly input: Input;
  readonly output: z.ZodType;
  readonly failures: readonly Failure[];
  /** What the answer counts as, where a model is asked: each query of a batch is one call, a long one several. */
  readonly inferenceCalls?: (input: z.infer<Input>) => number;
  /** Asks the library. The input is valid. */
  readonly answer: (services: Services, caller: Caller, input: z.infer<Input>) => Promise<object>;
}

/** An operation: everything about it, for the router and for the OpenAPI document. */
export interface Operation extends Route, Omit<Definition<InputSchema>, 'answer' | 'inferenceCalls'> {
  /** Whether it counts for a quota. */
  readonly asksModels: boolean;
  /** Checks the input. @throws Refusal 422 */
  readonly prepare: (input: RawInput) => Call;
}

/** A valid request that can be answered. */
export interface Call {
  /** 0 where no model is asked. */
  readonly inferenceCalls: number;
  readonly answer: (services: Services, caller: Caller) => Promise<object>;
}

export function operation<Input extends InputSchema>(definition: Definition<Input>): Operation {
  const { input, path, answer, inferenceCalls } = definition;
  const places = {
    input: input.shape.body === undefined ? 'query' : 'body',
    subject: subjectOf(path),
  } as const;
  return {
    ...definition,
    places,
    asksModels: inferenceCalls !== undefined,
    prepare(raw) {
      const valid = checked(input, raw);
      return {
        inferenceCalls: inferenceCalls?.(valid) ?? 0,
        answer: (services, caller) => answer(services, caller, valid),
      };
    },
  };
}

/** What names the model or job: a parameter of the path, else something in the body. */
function subjectOf(path: string): Place {
  const parameter = /\{(\w+)\}/.exec(path)?.[1];
  return parameter === undefined ? ['body'] : ['path', parameter];
}

/** Problems here have their place in the request already, unlike those that the library finds in its arguments. */
export function checked<Schema extends z.ZodType>(schema: Schema, request: object): z.infer<Schema> {
  try {
    return validate(schema, request);
  } catch (thrown) {
    throw isOrchardError(thrown) && thrown.code === 'validation' ? invalid(thrown.problems) : thrown;
  }
}
