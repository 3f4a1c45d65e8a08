import { ModelFolderError } from '../../errors.js';
import { listOf, shaped, text } from '../../json-shape.js';
import type { ModelFile } from '../family.js';

/** The texts that are searched, an array of strings. */
export const PASSAGES_FILE = 'passages.json';
/** Their vectors, in the same order. */
export const VECTORS_FILE = 'passages.safetensors';
/** Their words, for BM25. */
export const POSTINGS_FILE = 'lexical.safetensors';

const passagesShape = listOf(text);

export function encodePassages(passages: readonly string[]): Uint8Array {
  return Buffer.from(JSON.stringify(passages, undefined, 1));
}

/** @throws ModelFolderError */
export function decodePassages({ bytes, file }: ModelFile): readonly string[] {
  const passages = shaped(passagesShape, parseJson(bytes, file));
  if (passages !== undefined) return passages;
  throw new ModelFolderError(file, 'it is not an array of strings');
}

function parseJson(bytes: Uint8Array, file: string): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch (cause) {
    throw new ModelFolderError(file, 'it is not JSON', { cause });
  }
}
