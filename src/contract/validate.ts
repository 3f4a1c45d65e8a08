import type * as z from 'zod';
import { ValidationError } from '../errors.js';

/**
 * Checks `input` against a documented schema. @returns it with the defaults filled in.
 * @throws ValidationError that names every problem by its path under `at`.
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

/** What each kind of value is called, by the schema's name for it; others go by that name. */
const kinds: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

/** Of a field that is absent, the message says what it should hold; of others it is the schema's. */
function missing(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.input !== undefined) return undefined;
  if (issue.code === 'invalid_type') return `missing; give ${kinds[issue.expected] ?? issue.expected}`;
  if (issue.code !== 'invalid_value') return undefined;
  const values = issue.values.map((value) =>
    typeof value === 'string' ? JSON.stringify(value) : String(value),
  );
  return `missing; give ${values.length > 1 ? 'one of ' : ''}${values.join(', ')}`;
}

/** A stable name of the kind of problem: `missing` where a required field is absent, else the schema's code. */
function issueType({ code, input }: z.core.$ZodIssue): string {
  const isMissing = input === undefined && (code === 'invalid_type' || code === 'invalid_value');
  return isMissing ? 'missing' : code;
}
