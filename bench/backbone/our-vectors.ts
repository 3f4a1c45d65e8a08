import { basename, dirname } from 'node:path';
import { folderModels } from 'orchard-nlp';
import { exportedInputs, pooledStates } from '../../src/encoder/index.js';
import { unitVector } from '../../src/families/dragonfruit/sentence-vector.js';
import { createSession, Graph, int64Tensor, toOnnx } from '../../src/graph/index.js';
import { type Backbone, readBackbone } from '../../src/training/backbone.js';

/** Loads a folder as a trainer does. */
export async function openFolder(path: string): Promise<Backbone> {
  const name = basename(path);
  const { directory } = await folderModels(dirname(path)).load(name);
  return readBackbone({ name, directory });
}

export interface SentenceVector {
  readonly ids: readonly number[];
  /** The mean of the token states, of unit length. */
  readonly vector: readonly number[];
}

/** One text at a time, through the graph that models are exported as. */
export async function sentenceVectors(
  { encoder, weights, tokenizer }: Backbone,
  texts: readonly string[],
): Promise<SentenceVector[]> {
  const graph = new Graph();
  const options = { prefix: '', pooling: 'mean', differentiable: false } as const;
  graph.output('vectors', pooledStates(graph, encoder, exportedInputs(graph), options));
  const session = await createSession(await toOnnx(graph, weights), 1);
  const results: SentenceVector[] = [];
  for (const text of texts) {
    const { ids, typeIds } = tokenizer.tokenizer.encode(text);
    const dims = [1, ids.length];
    const { vectors } = await session.run({
      input_ids: int64Tensor(BigInt64Array.from(ids, BigInt), dims),
      attention_mask: int64Tensor(new BigInt64Array(ids.length).fill(1n), dims),
      token_type_ids: int64Tensor(BigInt64Array.from(typeIds, BigInt), dims),
    });
    if (!(vectors?.data instanceof Float32Array)) throw new Error('the graph has no vectors');
    results.push({ ids: [...ids], vector: [...unitVector(vectors.data)] });
  }
  await session.release();
  return results;
}
