import * as z from 'zod';
import { ModelFolderError, type ModelSize } from '../contract/index.js';
import type { NamedTensor } from '../models/index.js';
import type { Architecture } from './architecture.js';
import { albert } from './architectures/albert.js';
import { bert, electra, roberta } from './architectures/bert.js';
import { debertaV2 } from './architectures/deberta-v2.js';
import { distilbert } from './architectures/distilbert.js';
import { modernBert } from './architectures/modernbert.js';
import { mpnet } from './architectures/mpnet.js';
import type { Encoder, JsonObject } from './encoder.js';
import type { ParameterSpec } from './parameter.js';

const jsonSchema = z.record(z.string(), z.unknown());

/** @param file named in errors. @throws ModelFolderError for a model_type or a field that can't be run here. */
export function readEncoder(config: unknown, file: string): Encoder {
  const parsed = jsonSchema.safeParse(config);
  if (!parsed.success) throw new ModelFolderError(file, 'not a JSON object');
  const json = parsed.data;
  const known = architectureOf(json);
  if (known === undefined) throw new ModelFolderError(file, otherType(json));
  for (const field of ['is_decoder', 'is_encoder_decoder', 'add_cross_attention']) {
    if (json[field] === true) throw new ModelFolderError(file, `a decoder (${field} is true), not an encoder`);
  }
  return known.encoder(json, file);
}

function architectureOf({ model_type }: JsonObject): Architecture | undefined {
  return architectures.find(({ modelTypes }) => modelTypes.some((type) => type === model_type));
}

export const encoderTypes = (): string[] => architectures.flatMap((each) => each.modelTypes);

function otherType({ model_type }: JsonObject): string {
  return `an encoder of model_type ${JSON.stringify(model_type)} can't be run here; use one of ${encoderTypes().join(', ')}`;
}

export interface Geometry {
  readonly layers: number;
  readonly width: number;
  readonly heads: number;
}

/** BERT-mini (Turc et al. 2019); MiniLM-L6 (Wang et al. 2020) with mini's heads, so that it can grow from a mini. */
const geometries: Readonly<Record<ModelSize, Geometry>> = {
  mini: { layers: 4, width: 256, heads: 4 },
  base: { layers: 6, width: 384, heads: 6 },
};

export function newEncoder(size: ModelSize, vocabularySize: number): Encoder {
  return newBert(geometries[size], vocabularySize);
}

/** Its feed-forward blocks are four times as wide as its states. */
export function newBert({ layers, width, heads }: Geometry, vocabularySize: number): Encoder {
  const config = {
    model_type: 'bert',
    vocab_size: vocabularySize,
    hidden_size: width,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    intermediate_size: 4 * width,
  };
  return readEncoder(config, 'config.json');
}

const architectures: readonly Architecture[] = [
  bert,
  roberta,
  electra,
  distilbert,
  mpnet,
  albert,
  debertaV2,
  modernBert,
];

/** By transformers' names without the encoder's prefix; with a head's inner layers if the checkpoint has them. */
export type CheckpointWeights = ReadonlyMap<string, Float32Array>;

/** A parameter's name without the prefix that it has under a head. */
export function bareName({ prefix }: Pick<Encoder, 'prefix'>, name: string): string {
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}

/** Reads names with and without the prefix. @throws ModelFolderError if a tensor is missing or has another shape. */
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

/** The layers of a head, by names without the prefix. @throws ModelFolderError as {@link checkpointWeights} */
export function headWeights(
  encoder: Encoder,
  head: readonly ParameterSpec[],
  tensors: ReadonlyMap<string, NamedTensor>,
  file: string,
): CheckpointWeights {
  return new Map(
    head.map(({ name, shape }) => {
      const bare = bareName(encoder, name);
      return [bare, requiredTensor(tensors, encoder.prefix, bare, shape, file)];
    }),
  );
}

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
function findTensor(tensors: ReadonlyMap<string, NamedTensor>, prefix: string, name: string): Found | undefined {
  const old = name.replace('LayerNorm.weight', 'LayerNorm.gamma').replace('LayerNorm.bias', 'LayerNorm.beta');
  for (const candidate of [name, old].flatMap((each) => [prefix + each, each])) {
    const tensor = tensors.get(candidate);
    if (tensor !== undefined) return { ...tensor, name: candidate };
  }
  return undefined;
}
