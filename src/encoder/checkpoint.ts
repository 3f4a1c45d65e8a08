import { ModelFolderError } from '../contract/index.js';
import type { NamedTensor } from '../models/index.js';
import type { Encoder } from './encoder.js';

/** Pretrained encoders, Orchard's own or others: their weights in Hugging Face's layout. */

/**
 * Weights by transformers' names without the encoder's prefix, including those of a head's inner layers (BERT's
 * pooler) if the checkpoint has them.
 */
export type CheckpointWeights = ReadonlyMap<string, Float32Array>;

/** A parameter's name without the prefix that it has under a head. */
export function bareName({ prefix }: Pick<Encoder, 'prefix'>, name: string): string {
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}

/**
 * Picks the encoder's weights from a file's tensors, named with or without the encoder's prefix. Those of a head's inner
 * layers are included if the file has them and they fit, as transformers does it.
 * @param file the tensors' file, for errors.
 * @throws ModelFolderError if a tensor is missing or has another shape.
 */
export function checkpointWeights(
  encoder: Encoder,
  tensors: ReadonlyMap<string, NamedTensor>,
  file: string,
): CheckpointWeights {
  const weights = new Map<string, Float32Array>();
  for (const { name, shape } of encoder.parameters('')) {
    weights.set(name, requiredTensor(tensors, encoder.prefix, name, shape, file));
  }
  for (const { name, shape } of [...encoder.textHead.inner, ...encoder.tokenHead.inner]) {
    const bare = bareName(encoder, name);
    const found = findTensor(tensors, encoder.prefix, bare);
    if (found !== undefined && found.shape.join() === shape.join()) weights.set(bare, found.values);
  }
  return weights;
}

/** @throws ModelFolderError if there is no such tensor, or one of another shape. */
function requiredTensor(
  tensors: ReadonlyMap<string, NamedTensor>,
  prefix: string,
  name: string,
  expected: readonly number[],
  file: string,
): Float32Array {
  const found = findTensor(tensors, prefix, name);
  if (found === undefined) {
    const reason = `has no tensor ${prefix}${name} or ${name}, which config.json asks for`;
    throw new ModelFolderError(file, reason);
  }
  if (found.shape.join() !== expected.join()) {
    const [is, asked] = [found.shape.join(', '), expected.join(', ')];
    throw new ModelFolderError(file, `tensor ${found.name} is [${is}], config.json asks for [${asked}]`);
  }
  return found.values;
}

type Found = NamedTensor & { readonly name: string };

/** Checkpoints converted from TensorFlow call LayerNorm's weight and bias gamma and beta. */
function findTensor(
  tensors: ReadonlyMap<string, NamedTensor>,
  prefix: string,
  name: string,
): Found | undefined {
  const old = name.replace('LayerNorm.weight', 'LayerNorm.gamma').replace('LayerNorm.bias', 'LayerNorm.beta');
  for (const candidate of [name, old].flatMap((each) => [prefix + each, each])) {
    const tensor = tensors.get(candidate);
    if (tensor !== undefined) return { ...tensor, name: candidate };
  }
  return undefined;
}
