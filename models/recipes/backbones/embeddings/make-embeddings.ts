import { readFileSync, writeFileSync } from 'node:fs';
import { onnxExecutor } from '../../../../src/graph/index.js';
import { decodeSafetensors, encodeSafetensors } from '../../../../src/models/index.js';
import { type BertTokenizerJson, loadTokenizer } from '../../../../src/text/index.js';
import { embeddingSettings } from '../settings.js';
import type { WorkFolder } from '../work-folder.js';
import { CoOccurrence } from './co-occurrence.js';
import { MatrixProduct } from './matrix-product.js';
import { wordEmbeddings } from './word-embeddings.js';

/** BertModel's name for the table. */
export const WORD_EMBEDDINGS = 'embeddings.word_embeddings.weight';

/** Writes the word embeddings that the student starts from, computed from the whole corpus. */
export async function makeEmbeddings(
  work: WorkFolder,
  tokenizerJson: BertTokenizerJson,
  width: number,
  threads: number,
): Promise<void> {
  const startedAt = performance.now();
  const say = (what: string) => console.log(`${((performance.now() - startedAt) / 1000).toFixed(0)} s: ${what}`);
  const tokenizer = loadTokenizer(tokenizerJson);
  const counts = new CoOccurrence(tokenizer.vocabularySize, embeddingSettings.distanceWeights);
  let tokens = 0;
  for (const passage of work.readPassages()) {
    const ids = tokenizer.encode(passage).ids.subarray(1, -1);
    counts.add(ids);
    tokens += ids.length;
  }
  say(`${tokens} tokens counted`);
  const information = counts.toPositiveInformation(embeddingSettings.contextExponent);
  say('mutual information');
  const product = await MatrixProduct.create(onnxExecutor({ threads }));
  const { rows, columns, values } = await wordEmbeddings(information, width, product);
  await product.release();
  writeFileSync(work.embeddings, encodeSafetensors(new Map([[WORD_EMBEDDINGS, { shape: [rows, columns], values }]])));
  say(`[${rows}, ${columns}] in ${work.embeddings}`);
}

/**
 * The word embeddings that {@link makeEmbeddings} wrote: [vocabulary, width].
 * @throws Error if they have another width.
 */
export function readEmbeddings(work: WorkFolder, width: number): Float32Array {
  const { tensors } = decodeSafetensors(readFileSync(work.embeddings), work.embeddings);
  const table = tensors.get(WORD_EMBEDDINGS);
  if (table?.shape[1] !== width) {
    throw new Error(`${work.embeddings}: no word embeddings of width ${width}; make them for this size`);
  }
  return table.values;
}
