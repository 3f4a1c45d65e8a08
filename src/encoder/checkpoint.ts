/** Pretrained encoders, Orchard's own or others: their files in Hugging Face's layout, read as BERT. */
import * as z from 'zod';
import { ModelFolderError } from '../errors.js';
import type { NamedTensor } from '../safetensors/index.js';
import { type BertConfig, parseBertConfig } from './bert-config.js';
import { bertParameters, poolerParameters } from './bert-parameters.js';
import { type CheckpointLayout, checkpointLayouts, type JsonObject } from './checkpoint-layouts.js';

/** What a checkpoint's config.json says. */
export interface CheckpointConfig {
  readonly encoder: BertConfig;
  readonly layout: CheckpointLayout;
  readonly json: JsonObject;
}

/** Weights by BertModel's names without a prefix, including the pooler's if the checkpoint has them. */
export type CheckpointWeights = ReadonlyMap<string, Float32Array>;

/** A parameter's name without the prefix that it has under a head. */
export const bertName = (name: string): string => name.replace(/^bert\./, '');

const jsonSchema = z.record(z.string(), z.unknown());

/**
 * Reads the config.json of a model.
 * @throws ModelFolderError if its type isn't in {@link checkpointLayouts}, or it asks for what BERT doesn't
 *   compute.
 */
export function parseCheckpointConfig(config: unknown, file: string): CheckpointConfig {
  const refusal = (reason: string) => new ModelFolderError(file, reason);
  const parsed = jsonSchema.safeParse(config);
  if (!parsed.success) throw refusal('not a JSON object');
  const json = parsed.data;
  const layout = checkpointLayouts.get(json.model_type);
  if (layout === undefined) throw refusal(otherType(json));
  const reason = reasonAgainst(json);
  if (reason !== undefined) throw refusal(reason);
  return { encoder: parseBertConfig({ ...layout.config(json), model_type: 'bert' }, file), layout, json };
}

function otherType({ model_type }: JsonObject): string {
  const types = [...checkpointLayouts.keys()].join(', ');
  return `an encoder of model_type ${JSON.stringify(model_type)} can't be run here; use one of ${types}`;
}

/** Why the encoder computes something other than BERT; undefined if it doesn't. */
function reasonAgainst(json: JsonObject): string | undefined {
  const { embedding_size, hidden_size, is_decoder, sinusoidal_pos_embds } = json;
  if (is_decoder === true) return 'a decoder (is_decoder is true), not an encoder';
  if (json.model_type === 'electra' && embedding_size !== hidden_size) {
    return `its embeddings of ${embedding_size} numbers are projected to ${hidden_size}, which BERT has no layer for; use ELECTRA base or large`;
  }
  if (sinusoidal_pos_embds === true)
    return 'its position embeddings are sinusoidal (sinusoidal_pos_embds is true)';
  return undefined;
}

/**
 * Picks the encoder's weights from a file's tensors, named with or without the model type's prefix. The
 * pooler's are included if the file has them and they fit.
 * @param file the tensors' file, for errors.
 * @throws ModelFolderError if a tensor is missing or has another shape.
 */
export function checkpointWeights(
  { encoder, layout, json }: CheckpointConfig,
  tensors: ReadonlyMap<string, NamedTensor>,
  file: string,
): CheckpointWeights {
  const weights = new Map<string, Float32Array>();
  for (const { name, shape } of bertParameters(encoder, '')) {
    const unusedRows = name.includes('position_embeddings') ? layout.unusedPositions(json) : 0;
    const [rows = 0, ...rest] = shape;
    const stored = [rows + unusedRows, ...rest];
    const theirs = layout.nameOf(name);
    const values =
      theirs === undefined
        ? new Float32Array(elements(stored))
        : requiredTensor(tensors, layout.prefix, theirs, stored, file);
    weights.set(name, values.subarray(unusedRows * elements(rest)));
  }
  for (const { name, shape } of poolerParameters(encoder, '')) {
    const found = findTensor(tensors, layout.prefix, name);
    if (found !== undefined && found.shape.join() === shape.join()) weights.set(name, found.values);
  }
  return weights;
}

const elements = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1);

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
