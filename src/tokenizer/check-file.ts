import type * as z from 'zod';
import { ModelFolderError } from '../errors.js';

/**
 * Checks a parsed file against its schema.
 * @throws ModelFolderError with the first field that doesn't fit.
 */
export function checkFile<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  file: string,
): z.infer<Schema> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue === undefined || issue.path.length === 0 ? 'the file' : issue.path.join('.');
  throw new ModelFolderError(file, `${field}: ${issue?.message}`, { cause: parsed.error });
}
