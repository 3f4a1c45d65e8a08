import type { Result, ResultAsync } from 'neverthrow';
import type * as z from 'zod';
import { type Account, validate } from '../contract/index.js';
import type { OrchardError } from '../errors.js';
import { invalid, type Place, type Refusal, refusalOf } from './refusal.js';
import type { Services } from './services.js';

/** The parts of a request that an operation reads. */
type InputSchema = z.ZodObject<{ path?: z.ZodObject; query?: z.ZodObject; body?: z.ZodType }>;

/** Who asks, and for whom there may be nobody left to answer. */
export interface Caller {
  readonly account: Account;
  readonly signal: AbortSignal;
}

/** What a request brings, unchecked. */
export interface RawInput {
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

interface Definition<Input extends InputSchema> {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** As documented: `/trainer/language/models/{model_id}`. */
  readonly path: `/${string}`;
  /** Its name in the OpenAPI document. */
  readonly id: string;
  readonly tag: 'trainer' | 'predictor' | 'batch predictor' | 'medley' | 'page';
  readonly summary: string;
  readonly needsPro?: true;
  readonly input: Input;
  readonly output: z.ZodType;
  /** What the answer counts as, where a model is asked: each query of a batch is one call, a medley one for each query. */
  readonly inferenceCalls?: (input: z.infer<Input>) => number;
  /** Asks the library. The input is valid. */
  readonly answer: (
    services: Services,
    caller: Caller,
    input: z.infer<Input>,
  ) => ResultAsync<object, OrchardError>;
}

/** A documented operation: everything about it, for the router and for the OpenAPI document. */
export interface Operation extends Omit<Definition<InputSchema>, 'answer' | 'inferenceCalls'> {
  /** What names the model or job that is asked for. */
  readonly subject: Place;
  /** Checks the input. */
  readonly prepare: (input: RawInput) => Result<Call, Refusal>;
}

/** A valid request that can be answered. */
export interface Call {
  /** 0 where no model is asked. */
  readonly inferenceCalls: number;
  readonly answer: (services: Services, caller: Caller) => ResultAsync<object, Refusal>;
}

export function operation<Input extends InputSchema>(definition: Definition<Input>): Operation {
  const { input, path, answer, inferenceCalls } = definition;
  const subject = subjectOf(path);
  const places = { input: input.shape.body === undefined ? 'query' : 'body', subject } as const;
  return {
    ...definition,
    subject,
    prepare: (raw) =>
      validate(input, raw)
        .mapErr(({ problems }) => invalid(problems))
        .map((valid) => ({
          inferenceCalls: inferenceCalls?.(valid) ?? 0,
          answer: (services, caller) =>
            answer(services, caller, valid).mapErr((error) => refusalOf(error, places)),
        })),
  };
}

/** What names the model or job: a parameter of the path, else something in the body. */
function subjectOf(path: string): Place {
  const parameter = /\{(\w+)\}/.exec(path)?.[1];
  return parameter === undefined ? ['body'] : ['path', parameter];
}
