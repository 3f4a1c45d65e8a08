import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readEncoder } from '../../../src/encoder/index.js';
import {
  encodePassages,
  encodeVectors,
  meanOfRows,
  PASSAGES_FILE,
  POSTINGS_FILE,
  unitVector,
  VECTORS_FILE,
  VectorIndex,
} from '../../../src/families/index.js';
import { TextModel } from '../../../src/inference/index.js';
import { Bm25Index, encodeBm25 } from '../../../src/lexical/index.js';
import { openModelFolder } from '../../../src/models/index.js';
import type { TextOutputs } from '../../../src/text/index.js';

const BATCH = 64;

/**
 * Lets an English retrieval model search other passages: their texts, their vectors by its own encoder and
 * their postings replace those in its folder.
 */
export async function replacePassages(directory: string, passages: readonly string[], threads: number): Promise<void> {
  const { config } = await openModelFolder(directory);
  const { width } = readEncoder(config, 'config.json');
  const model = await TextModel.load(directory, threads);
  const vectors: Float32Array[] = [];
  for (let start = 0; start < passages.length; start += BATCH) {
    const encoded = await model.encode(passages.slice(start, start + BATCH));
    vectors.push(...encoded.map((outputs) => passageVector(outputs, width)));
  }
  await model.release();
  const all = new Float32Array(passages.length * width);
  for (const [row, vector] of vectors.entries()) all.set(vector, row * width);
  const files = {
    [PASSAGES_FILE]: encodePassages(passages),
    [VECTORS_FILE]: encodeVectors(VectorIndex.fromVectors(all, width)),
    [POSTINGS_FILE]: encodeBm25(Bm25Index.fromPassages(passages, { stem: true })),
  };
  for (const [file, bytes] of Object.entries(files)) writeFileSync(join(directory, file), bytes);
}

/** A passage's vector, of unit length, computed like those of questions. */
function passageVector([window]: TextOutputs, width: number): Float32Array {
  const states = window?.outputs ?? new Float32Array();
  return unitVector(meanOfRows(states, window?.encoding.ids.length ?? 0, width));
}
