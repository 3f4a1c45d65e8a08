import { smallConfigs } from '../../test/encoder/small-configs.js';
import type { BuiltHead } from '../../test/support/built-models.js';
import { builtModel } from '../../test/support/small-models.js';
import type { Loading, PythonFolder } from './python-peer.js';

const loadings: Readonly<Record<BuiltHead, Loading>> = {
  first: 'sequence-classification',
  mean: 'mean-classification',
  tokens: 'token-classification',
};
const heads: readonly BuiltHead[] = ['first', 'mean', 'tokens'];

/** Enough positions for the longest text, and weights large enough that outputs differ from text to text. */
const larger = { max_position_embeddings: 300, initializer_range: 0.3, pad_token_id: 0 };

/** A model of every architecture with every head. @param folder where theirs are written. */
export async function architectureModels(
  folder: string,
): Promise<(PythonFolder & { readonly name: string })[]> {
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
