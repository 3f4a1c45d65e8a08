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
  const parsed = schema.safeParse(input, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw new ValidationError(
    parsed.error.issues.map((issue) => ({
      loc: [...at, ...issue.path.map((part) => (typeof part === 'number' ? part : String(part)))],
      msg: issue.message,
      type: issueType(issue),
    })),
  );
}

/** A stable name of the kind of problem: `missing` where a required field is absent, else the schema's code. */
function issueType(issue: z.core.$ZodIssue): string {
  return issue.code === 'invalid_type' && issue.input === undefined ? 'missing' : issue.code;
}
