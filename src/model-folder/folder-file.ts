/** Reads and writes single files of a model folder; errors name the file's path. */
import { readFile } from 'node:fs/promises';
import type * as z from 'zod';
import { ModelFolderError } from '../errors.js';

/** Runs a function that reads or writes a file. @throws ModelFolderError */
export async function withFile<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new ModelFolderError(file, cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** @throws ModelFolderError if the file can't be read or isn't JSON. */
export function readJson(file: string): Promise<unknown> {
  return withFile(file, async () => JSON.parse(await readFile(file, 'utf8')));
}

/** @throws ModelFolderError as {@link readJson} does, and if a field doesn't fit the schema. */
export async function readChecked<T>(file: string, schema: z.ZodType<T>): Promise<T> {
  const parsed = schema.safeParse(await readJson(file));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new ModelFolderError(file, `${issue?.path.join('.')}: ${issue?.message}`);
}
