import * as z from 'zod';
import { ValidationError } from './errors.js';

/** A schema for each field of `T`. `satisfies FieldsOf<T>` rejects a missing or extra field, and a wrong type. */
export type FieldsOf<T> = { readonly [Field in keyof T]-?: z.ZodType<T[Field]> };

/** An optional field of a request. Null counts as absent: many clients write every field. */
export function absentable<Schema extends z.ZodType>(schema: Schema) {
  return z
    .pipe(
      schema.nullish(),
      z.transform((value: z.output<Schema> | null | undefined) => value ?? undefined),
    )
    .optional();
}

/** Of this realm or another. */
function isSignal(given: unknown): boolean {
  return typeof given === 'object' && given !== null && 'aborted' in given && 'addEventListener' in given;
}

export const signalSchema = z.custom<AbortSignal>(isSignal, 'give an AbortSignal');

/** Options of a call that can be aborted. */
export interface SignalOptions {
  readonly signal?: AbortSignal | undefined;
}

export const signalOptionsSchema = z.strictObject({ signal: signalSchema.optional() });

/**
 * Checks `input` against a schema.
 * @param at the path of `input`, which the paths of problems start with.
 * @returns the input, with defaults.
 * @throws ValidationError that names every problem by its path.
 */
export function validate<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  at: readonly (string | number)[] = [],
): z.infer<Schema> {
  const parsed = schema.safeParse(input, { reportInput: true, error: remedy });
  if (parsed.success) return parsed.data;
  throw new ValidationError(
    parsed.error.issues.map((issue) => ({
      loc: [...at, ...issue.path.map((part) => (typeof part === 'number' ? part : String(part)))],
      msg: issue.message,
      type: issueType(issue),
    })),
  );
}

/**
 * The options of a call, before they are checked. Anything else in their place, such as rows or a signal, is one problem
 * rather than none, or one for each of its keys.
 * @param example how to pass them, as code in backticks. @throws ValidationError
 */
export function requireOptions<Options>(options: Options, example: string): Options {
  const isObject = typeof options === 'object' && options !== null;
  if (isObject && !Array.isArray(options) && !isSignal(options)) return options;
  const msg = `give the options as an object, as in ${example}, not ${kindOf(options)}`;
  throw new ValidationError([{ loc: [], msg, type: 'invalid_type' }]);
}

/** How messages name each kind of value; others keep the schema's name. */
const kinds: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
};

/** Formats of strings in words; others keep the schema's name. */
const formats: Readonly<Record<string, string>> = {
  url: 'a URL',
  datetime: 'a date and time such as 2026-01-31T12:00:00Z',
  uuid: 'a UUID',
};

/** What to give instead. Where a schema has a message of its own, that is used. */
function remedy(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.input === undefined && (issue.code === 'invalid_type' || issue.code === 'invalid_value')) {
    return `missing; give ${wanted(issue)}`;
  }
  switch (issue.code) {
    case 'invalid_type': {
      const isFraction = issue.expected === 'int' && typeof issue.input === 'number';
      return `give ${wanted(issue)}, not ${isFraction ? String(issue.input) : kindOf(issue.input)}`;
    }
    case 'invalid_value':
      return `give ${wanted(issue)}`;
    case 'too_small':
      return `give ${bounded(issue, issue.minimum, issue.inclusive === false ? 'above' : 'at least')}`;
    case 'too_big':
      return `give ${bounded(issue, issue.maximum, issue.inclusive === false ? 'below' : 'at most')}`;
    case 'not_multiple_of':
      return `give a multiple of ${issue.divisor}`;
    case 'invalid_format':
      return `give ${formatted(issue)}`;
    case 'unrecognized_keys':
      return unknownKeys(issue.keys, issue.inst);
    case 'invalid_union':
      return [...new Set(issue.errors.flatMap(([first]) => (first ? [first.message] : [])))].join('; or ') || undefined;
    case 'invalid_key':
    case 'invalid_element':
      return issue.issues[0] && `the key is not valid; ${issue.issues[0].message}`;
    default:
      return undefined;
  }
}

type Issue<Code extends z.core.$ZodRawIssue['code']> = Extract<z.core.$ZodRawIssue, { readonly code: Code }>;

function wanted(issue: Issue<'invalid_type'> | Issue<'invalid_value'>): string {
  if (issue.code === 'invalid_value') {
    const values = issue.values.map((value) => (typeof value === 'string' ? JSON.stringify(value) : String(value)));
    return `${values.length > 1 ? 'one of ' : ''}${values.join(', ')}`;
  }
  const { expected } = issue;
  return (
    kinds[expected] ?? (/^[A-Z]/.test(expected) ? `${/^[AEIOU]/.test(expected) ? 'an' : 'a'} ${expected}` : expected)
  );
}

/** The kind of a value, and not the value: it may be a secret. */
function kindOf(value: unknown): string {
  if (value instanceof URL) return `a URL object; give its href`;
  if (isSignal(value)) return 'an AbortSignal';
  if (value === null || value === undefined || typeof value === 'boolean') return String(value);
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  return Array.isArray(value) ? 'an array' : `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`;
}

function bounded(
  { origin, exact }: Issue<'too_small'> | Issue<'too_big'>,
  bound: number | bigint,
  how: string,
): string {
  if (origin === 'string' || origin === 'array') {
    const [unit, nothing] =
      origin === 'string' ? ['character', 'a string that is not empty'] : ['item', 'at least one item'];
    if (how === 'at least' && bound === 1 && exact !== true) return nothing;
    return `${exact === true ? 'exactly' : how} ${bound} ${unit}${Number(bound) === 1 ? '' : 's'}`;
  }
  return `a number ${how === 'above' || how === 'below' ? '' : 'of '}${how} ${bound}`;
}

function formatted(issue: Issue<'invalid_format'>): string {
  if ('prefix' in issue) return `a string that starts with ${JSON.stringify(issue.prefix)}`;
  if (issue.format === 'regex') return `a string that matches ${String(issue.pattern)}`;
  return formats[issue.format] ?? `a valid ${issue.format}`;
}

/** Most unknown fields that are named. */
const MOST_UNKNOWN = 8;

function unknownKeys(keys: readonly string[], schema: z.core.$ZodRawIssue['inst']): string {
  const told = keys.slice(0, MOST_UNKNOWN).map((key) => unknown(key, schema));
  const others = keys.length - told.length;
  return (others > 0 ? [...told, `and ${others} more`] : told).join('; ');
}

/** Most fields that are listed where none resembles the unknown one. */
const MOST_LISTED = 8;
const either = new Intl.ListFormat('en-GB', { type: 'disjunction' });

function unknown(key: string, schema: z.core.$ZodRawIssue['inst']): string {
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const plain = (name: string) => name.toLowerCase().replaceAll(/[_-]/g, '');
  const shared = (name: string) => {
    const [one, other] = [plain(name), plain(key)];
    let length = 0;
    while (length < one.length && one[length] === other[length]) length += 1;
    return length;
  };
  const [nearest] = known.toSorted((a, b) => shared(b) - shared(a));
  const told = `unknown ${JSON.stringify(key)}`;
  if (nearest !== undefined && shared(nearest) >= Math.min(3, nearest.length))
    return `${told}; did you mean \`${nearest}\`?`;
  return known.length > 0 && known.length <= MOST_LISTED
    ? `${told}; use ${either.format(known.map((name) => `\`${name}\``))}`
    : `${told}; leave it out`;
}

/** A stable name for the kind of problem: `missing` if a required field is absent, else the schema's code. */
function issueType({ code, input }: z.core.$ZodIssue): string {
  const isMissing = input === undefined && (code === 'invalid_type' || code === 'invalid_value');
  return isMissing ? 'missing' : code;
}

/**
 * Schema of an object that the application may have made itself. Only its methods are checked, and it is
 * passed on unchanged.
 * @param methods the methods that it must have.
 * @param hint what to pass.
 */
export function implementation<Value>(methods: readonly (keyof Value & string)[], hint: string) {
  const has = (input: object, method: string) => typeof Reflect.get(input, method) === 'function';
  return z.custom<Value>(
    (input) => typeof input === 'object' && input !== null && methods.every((method) => has(input, method)),
    hint,
  );
}
