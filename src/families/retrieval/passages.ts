import { ModelFolderError } from '../../contract/index.js';
import type { Bm25Index } from '../../lexical/index.js';
import { listOf, type Scored, shaped, text, topScores, utf8Text } from '../../system/index.js';
import type { ModelFile } from '../family.js';
import type { VectorIndex } from './vector-index.js';

export const CANDIDATES_OF_EACH = 100;

/** The two experts on the same passages: in both, the same id means the same passage. */
export interface RetrievalExperts {
  readonly vectors: VectorIndex;
  readonly bm25: Bm25Index;
}

/** The passages that the final ranking of a question chooses from, with each expert's score for every one. */
export interface Candidates {
  readonly passages: Int32Array;
  /** Cosine of question and passage. [candidates] */
  readonly cosines: Float32Array;
  /** As shares of the question's best score: raw ones grow with its length (docs/retrieval.md). [candidates] */
  readonly bm25: Float32Array;
}

/** The best {@link CANDIDATES_OF_EACH} of each expert, together. @param vector of the question, of unit length */
export function findCandidates(
  question: string,
  vector: Float32Array,
  { vectors, bm25 }: RetrievalExperts,
): Candidates {
  const scores = bm25.scores(question);
  const byWords = topScores(scores, CANDIDATES_OF_EACH, 0);
  const byVector = vectors.search(vector, CANDIDATES_OF_EACH);
  const best = byWords[0]?.score ?? 1;
  const passages = unionOf(byWords, byVector);
  const shares = new Float32Array(passages.length);
  for (let at = 0; at < shares.length; at += 1) shares[at] = (scores[passages[at] ?? 0] ?? 0) / best;
  return { passages, cosines: vectors.scoresOf(vector, passages), bm25: shares };
}

function unionOf(some: readonly Scored[], others: readonly Scored[]): Int32Array {
  const ids = new Int32Array(some.length + others.length);
  for (const [at, { id }] of some.entries()) ids[at] = id;
  for (const [at, { id }] of others.entries()) ids[some.length + at] = id;
  ids.sort();
  let distinct = 0;
  for (let at = 0; at < ids.length; at += 1) {
    const id = ids[at] ?? 0;
    if (at > 0 && id === ids[distinct - 1]) continue;
    ids[distinct] = id;
    distinct += 1;
  }
  return ids.subarray(0, distinct);
}

/** The texts that are searched, an array of strings. */
export const PASSAGES_FILE = 'passages.json';
/** Their vectors, in the same order. */
export const VECTORS_FILE = 'passages.safetensors';
/** Their words, for BM25. */
export const POSTINGS_FILE = 'lexical.safetensors';

const passagesShape = listOf(text);

export function encodePassages(passages: readonly string[]): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(passages, undefined, 1));
}

export function decodePassages({ bytes, file }: ModelFile): readonly string[] {
  const passages = shaped(passagesShape, parseJson(bytes, file));
  if (passages !== undefined) return passages;
  throw new ModelFolderError(file, 'it is not an array of strings');
}

function parseJson(bytes: Uint8Array, file: string): unknown {
  try {
    return JSON.parse(utf8Text(bytes));
  } catch (cause) {
    throw new ModelFolderError(file, 'it is not JSON', { cause });
  }
}
