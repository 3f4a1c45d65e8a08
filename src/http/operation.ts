import type { ResultAsync } from 'neverthrow';
import type { z } from 'zod';
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
  readonly tag: 'trainer' | 'predictor' | 'batch predictor' | 'medley';
  readonly summary: string;
  readonly needsPro?: true;
  readonly input: Input;
  readonly output: z.ZodType;
  /** Asks the library. The input is valid. */
  readonly answer: (
    services: Services,
    caller: Caller,
    input: z.infer<Input>,
  ) => ResultAsync<object, OrchardError>;
}

/** A documented operation: everything about it, for the router and for the OpenAPI document. */
export interface Operation extends Omit<Definition<InputSchema>, 'answer'> {
  /** What names the model or job that is asked for. */
  readonly subject: Place;
  /** Checks the input, then asks the library. */
  readonly answer: (services: Services, caller: Caller, input: RawInput) => ResultAsync<object, Refusal>;
}

export function operation<Input extends InputSchema>(definition: Definition<Input>): Operation {
  const { input, path, answer } = definition;
  const subject = subjectOf(path);
  const places = { input: input.shape.body === undefined ? 'query' : 'body', subject } as const;
  return {
    ...definition,
    subject,
    answer: (services, caller, raw) =>
      validate(input, raw)
        .mapErr(({ problems }) => invalid(problems))
        .asyncAndThen((valid) => answer(services, caller, valid).mapErr((error) => refusalOf(error, places))),
  };
}

/** What names the model or job: a parameter of the path, else something in the body. */
function subjectOf(path: string): Place {
  const parameter = /\{(\w+)\}/.exec(path)?.[1];
  return parameter === undefined ? ['body'] : ['path', parameter];
}
