/** Reads and writes single files of a model folder; errors name the file's path. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type * as z from 'zod';
import { ModelFolderError } from '../errors.js';
import { CONFIG_FILE } from './files.js';
import { type ModelFolderConfig, modelFolderConfig } from './model-config.js';

/** Runs a function that reads or writes a file. @throws ModelFolderError */
export async function withFile<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new ModelFolderError(file, cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

interface JsonText {
  readonly text: string;
  /** The text, parsed. */
  readonly json: unknown;
}

/** @throws ModelFolderError if the file can't be read or isn't JSON. */
export function readJsonText(file: string): Promise<JsonText> {
  return withFile(file, async () => {
    const text = await readFile(file, 'utf8');
    return { text, json: JSON.parse(text) };
  });
}

/** The config.json of a folder. @throws ModelFolderError */
export async function readConfig(directory: string): Promise<ModelFolderConfig> {
  const file = join(directory, CONFIG_FILE);
  const { json } = await readJsonText(file);
  return modelFolderConfig(json, file);
}

/** @throws ModelFolderError as {@link readJsonText} does, and if a field doesn't fit the schema. */
export async function readChecked<T>(file: string, schema: z.ZodType<T>): Promise<T> {
  const { json } = await readJsonText(file);
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new ModelFolderError(file, `${issue?.path.join('.')}: ${issue?.message}`);
}
