import { err, ok, Result } from 'neverthrow';
import * as z from 'zod';
import { ModelFolderError } from '../../errors.js';
import type { ModelFile } from '../family.js';

/** The texts that are searched, an array of strings. */
export const PASSAGES_FILE = 'passages.json';
/** Their vectors, in the same order. */
export const VECTORS_FILE = 'passages.safetensors';
/** Their words, for BM25. */
export const POSTINGS_FILE = 'lexical.safetensors';

const passagesSchema = z.array(z.string());

export function encodePassages(passages: readonly string[]): Uint8Array {
  return Buffer.from(JSON.stringify(passages, undefined, 1));
}

export function decodePassages({ bytes, file }: ModelFile): Result<readonly string[], ModelFolderError> {
  const parse = Result.fromThrowable(
    (text: string): unknown => JSON.parse(text),
    (cause) => new ModelFolderError(file, 'it is no JSON', { cause }),
  );
  return parse(Buffer.from(bytes).toString('utf8')).andThen((json) => {
    const passages = passagesSchema.safeParse(json);
    return passages.success
      ? ok(passages.data)
      : err(new ModelFolderError(file, 'it is no array of passages as strings'));
  });
}
