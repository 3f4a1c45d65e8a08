import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onnxExecutor, resolveShape, type TensorData, volume } from '../../src/graph/index.js';
import { loadTokenizer } from '../../src/text/index.js';
import { smallConfigs } from '../../test/encoder/small-configs.js';
import { type BuiltHead, MAX_BUILT_TOKENS } from '../../test/support/built-models.js';
import { builtModel } from '../../test/support/small-models.js';
import type { Loading, PythonFolder } from './python-peer.js';

/** The tokens of a text, and its vector or logits; where each token has logits, those of all tokens. */
export interface TextResult {
  readonly ids: readonly number[];
  readonly outputs: readonly number[];
}

const loadings: Readonly<Record<BuiltHead, Loading>> = {
  first: 'sequence-classification',
  mean: 'mean-classification',
  tokens: 'token-classification',
};
const heads: readonly BuiltHead[] = ['first', 'mean', 'tokens'];

/** Enough positions for the longest text, and weights large enough that outputs differ from text to text. */
const larger = { max_position_embeddings: 300, initializer_range: 0.3 };

/** A model of every architecture with every head. @param folder where theirs are written. */
export async function architectureModels(folder: string): Promise<(PythonFolder & { readonly name: string })[]> {
  const folders = [];
  for (const [type, fields] of Object.entries(smallConfigs)) {
    for (const head of heads) {
      const name = `${type}, ${head}`;
      const encoder = { ...fields, model_type: type, ...larger };
      folders.push({ name, path: await builtModel(name, folder, { encoder, head }), load: loadings[head] });
    }
  }
  return folders;
}

/** What the ONNX graph of a folder gives for each text by itself. */
export async function graphResults(directory: string, texts: readonly string[]): Promise<TextResult[]> {
  const json = (file: string): unknown => JSON.parse(readFileSync(join(directory, file), 'utf8'));
  const tokenizer = loadTokenizer(json('tokenizer.json'), json('tokenizer_config.json'));
  const graph = await onnxExecutor().load(join(directory, 'onnx', 'model.onnx'));
  const [output] = graph.outputs;
  if (output === undefined) throw new Error(`${directory}: the graph has no output`);
  const results: TextResult[] = [];
  for (const text of texts) {
    const { ids, typeIds } = tokenizer.encode(text, { maxLength: MAX_BUILT_TOKENS });
    const row = (values: Int32Array): TensorData => ({
      type: 'int64',
      dims: [1, values.length],
      data: BigInt64Array.from(values, BigInt),
    });
    const all = {
      input_ids: row(ids),
      attention_mask: row(ids.map(() => 1)),
      token_type_ids: row(typeIds),
    };
    const read = Object.entries(all).filter(([name]) => graph.inputs.some((input) => input.name === name));
    const dims = resolveShape(output.shape, { batch: 1, tokens: ids.length });
    const data = new Float32Array(volume(dims));
    await graph.run(Object.fromEntries(read), { [output.name]: { type: 'float32', dims, data } });
    results.push({ ids: [...ids], outputs: [...data] });
  }
  await graph.release();
  return results;
}
