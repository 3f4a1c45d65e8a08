import * as z from 'zod';
import { ValidationError } from './errors.js';

/** A schema for each field of `T`. `satisfies FieldsOf<T>` rejects a missing or extra field, and a wrong type. */
export type FieldsOf<T> = { readonly [Field in keyof T]-?: z.ZodType<T[Field]> };

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
  const parsed = schema.safeParse(input, { reportInput: true, error: missing });
  if (parsed.success) return parsed.data;
  throw new ValidationError(
    parsed.error.issues.map((issue) => ({
      loc: [...at, ...issue.path.map((part) => (typeof part === 'number' ? part : String(part)))],
      msg: issue.message,
      type: issueType(issue),
    })),
  );
}

/** How messages name each kind of value; others keep the schema's name. */
const kinds: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

/** For a missing field, a message that tells what to give; for others the schema's own message. */
function missing(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.input !== undefined) return undefined;
  if (issue.code === 'invalid_type') return `missing; give ${kinds[issue.expected] ?? issue.expected}`;
  if (issue.code !== 'invalid_value') return undefined;
  const values = issue.values.map((value) => (typeof value === 'string' ? JSON.stringify(value) : String(value)));
  return `missing; give ${values.length > 1 ? 'one of ' : ''}${values.join(', ')}`;
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
