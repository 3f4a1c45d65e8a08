import { join } from 'node:path';
import type * as z from 'zod';
import { isOrchardError, ModelFolderError } from '../contract/index.js';
import { readWithin } from '../system/index.js';
import { CONFIG_FILE } from './files.js';
import { type ModelFolderConfig, modelFolderConfig } from './model-config.js';

/**
 * Reads and writes single files of a model folder. Never reads outside the folder, whatever names or links it has, nor a
 * file that is too large for its kind. Errors name the path of the file.
 */

const MIB = 1024 ** 2;
/** Maximum size of config.json and tokenizer_config.json: 64 MiB, for a million labels of 60 characters. */
export const MAX_CONFIG_BYTES = 64 * MIB;
/** Maximum size of tokenizer.json: 256 MiB, eight times that of Gemma with 256,000 tokens. */
export const MAX_TOKENIZER_BYTES = 256 * MIB;
/** Maximum size of training.json and evaluation.json: 256 MiB, for the confusions of 10,000 labels. */
const MAX_REPORT_BYTES = 256 * MIB;
/** Maximum size of other files: 2 GiB, the limit of a Buffer. */
export const MAX_FILE_BYTES = 2 ** 31 - 1;

/** Runs a function that reads or writes a file. @throws ModelFolderError for any other error */
export async function withFile<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (isOrchardError(cause)) throw cause;
    throw new ModelFolderError(file, cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** The bytes of a file of a folder. @throws ModelFolderError */
export function readFolderFile(directory: string, name: string, maxBytes: number = MAX_FILE_BYTES): Promise<Buffer> {
  return withFile(join(directory, name), () => readWithin(directory, name, maxBytes));
}

interface JsonText {
  readonly text: string;
  /** The text, parsed. */
  readonly json: unknown;
}

/** @throws ModelFolderError if the file can't be read or isn't JSON */
export function readJsonText(directory: string, name: string, maxBytes: number): Promise<JsonText> {
  return withFile(join(directory, name), async () => {
    const text = (await readWithin(directory, name, maxBytes)).toString('utf8');
    return { text, json: JSON.parse(text) };
  });
}

/** The config.json of a folder. @throws ModelFolderError */
export async function readConfig(directory: string): Promise<ModelFolderConfig> {
  const { json } = await readJsonText(directory, CONFIG_FILE, MAX_CONFIG_BYTES);
  return modelFolderConfig(json, join(directory, CONFIG_FILE));
}

/** @throws ModelFolderError as {@link readJsonText} does, and if a field doesn't fit the schema */
export async function readChecked<T>(directory: string, name: string, schema: z.ZodType<T>): Promise<T> {
  const { json } = await readJsonText(directory, name, MAX_REPORT_BYTES);
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new ModelFolderError(join(directory, name), `${issue?.path.join('.')}: ${issue?.message}`);
}
