import { basename, dirname } from 'node:path';
import { folderModels } from 'orchard-nlp';
import { exportedInputs, pooledStates } from '../../src/encoder/index.js';
import { unitVector } from '../../src/families/index.js';
import { Graph, onnxExecutor, type TensorData } from '../../src/graph/index.js';
import { type Backbone, readBackbone } from '../../src/training/index.js';

/** Loads a folder as a trainer does. */
export async function openFolder(path: string): Promise<Backbone> {
  const name = basename(path);
  const { directory } = await folderModels(dirname(path)).load(name);
  return readBackbone({ name, directory });
}

export interface SentenceVector {
  readonly ids: readonly number[];
  /** The mean of the hidden states, of unit length. */
  readonly vector: readonly number[];
}

/** Computes one text at a time, through the exported graph. */
export async function sentenceVectors(
  { encoder, weights, tokenizer }: Backbone,
  texts: readonly string[],
): Promise<SentenceVector[]> {
  const graph = new Graph();
  const options = { prefix: '', pooling: 'mean', differentiable: false } as const;
  graph.output('vectors', pooledStates(graph, encoder, exportedInputs(graph), options));
  const compiled = await onnxExecutor().compile(graph, { weights });
  const inputs = new Set(graph.inputs.map(({ name }) => name));
  const results: SentenceVector[] = [];
  for (const text of texts) {
    const { ids, typeIds } = tokenizer.tokenizer.encode(text);
    const all: Readonly<Record<string, TensorData>> = {
      input_ids: oneRow(ids),
      attention_mask: oneRow(new Int32Array(ids.length).fill(1)),
      token_type_ids: oneRow(typeIds),
    };
    const feeds = Object.fromEntries(Object.entries(all).filter(([name]) => inputs.has(name)));
    const data = new Float32Array(encoder.width);
    await compiled.run(feeds, { vectors: { type: 'float32', dims: [1, data.length], data } });
    results.push({ ids: [...ids], vector: [...unitVector(data)] });
  }
  await compiled.release();
  return results;
}

function oneRow(values: Int32Array): TensorData {
  return { type: 'int64', dims: [1, values.length], data: BigInt64Array.from(values, BigInt) };
}
