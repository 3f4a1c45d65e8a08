/** Encoders that were trained before, elsewhere or here: from the files of a Hugging Face folder to BERT's own terms. */
import { err, ok, type Result } from 'neverthrow';
import * as z from 'zod';
import { ModelFolderError } from '../errors.js';
import type { NamedTensor } from '../model-folder/index.js';
import { type BertConfig, parseBertConfig } from './bert-config.js';
import { bertParameters, poolerParameters } from './bert-parameters.js';
import { type CheckpointLayout, checkpointLayouts, type JsonObject } from './checkpoint-layouts.js';
import type { ParameterSpec } from './parameter.js';

/** What a checkpoint's config.json says. */
export interface CheckpointConfig {
  readonly encoder: BertConfig;
  readonly layout: CheckpointLayout;
  readonly json: JsonObject;
}

/** Weights by BertModel's names without a prefix; those of the pooler where the checkpoint has one. */
export type CheckpointWeights = ReadonlyMap<string, Float32Array>;

/** A parameter's name without the prefix that it has under a head. */
export const bertName = (name: string): string => name.replace(/^bert\./, '');

const jsonSchema = z.record(z.string(), z.unknown());

/** Reads the config.json of a model of a type in {@link checkpointLayouts}; others are refused with the reason. */
export function parseCheckpointConfig(
  config: unknown,
  file: string,
): Result<CheckpointConfig, ModelFolderError> {
  const refuse = (reason: string) => err(new ModelFolderError(file, reason));
  const parsed = jsonSchema.safeParse(config);
  if (!parsed.success) return refuse('not a JSON object');
  const json = parsed.data;
  const layout = checkpointLayouts.get(json.model_type);
  if (layout === undefined) return refuse(otherType(json));
  const reason = reasonAgainst(json);
  if (reason !== undefined) return refuse(reason);
  return parseBertConfig({ ...layout.config(json), model_type: 'bert' }, file).map((encoder) => ({
    encoder,
    layout,
    json,
  }));
}

function otherType({ model_type }: JsonObject): string {
  const types = [...checkpointLayouts.keys()].join(', ');
  return `an encoder of model_type ${JSON.stringify(model_type)} can't be run here; take one of ${types}`;
}

/** What would make the encoder compute something else than BERT. */
function reasonAgainst(json: JsonObject): string | undefined {
  const { embedding_size, hidden_size, is_decoder, sinusoidal_pos_embds } = json;
  if (is_decoder === true) return 'a decoder (is_decoder is true), not an encoder';
  if (json.model_type === 'electra' && embedding_size !== hidden_size) {
    return `its embeddings of ${embedding_size} numbers are widened to ${hidden_size}, which BERT has no layer for; take an ELECTRA of size base or large`;
  }
  if (sinusoidal_pos_embds === true)
    return 'its position embeddings are sines (sinusoidal_pos_embds is true)';
  return undefined;
}

/**
 * The encoder's weights among a file's tensors, with or without the model type's prefix. The pooler is taken where
 * there is one.
 * @param file where they come from, for errors.
 */
export function checkpointWeights(
  { encoder, layout, json }: CheckpointConfig,
  tensors: ReadonlyMap<string, NamedTensor>,
  file: string,
): Result<CheckpointWeights, ModelFolderError> {
  const weights = new Map<string, Float32Array>();
  const unusedPositions = layout.unusedPositions(json);
  for (const parameter of bertParameters(encoder, '')) {
    const name = layout.nameOf(parameter.name);
    const unusedRows = parameter.name.includes('position_embeddings') ? unusedPositions : 0;
    const read =
      name === undefined
        ? ok(new Float32Array(parameter.shape.reduce((product, size) => product * size, 1)))
        : findTensor(tensors, layout.prefix, name).andThen((tensor) => values(tensor, parameter, unusedRows));
    if (read.isErr()) return err(new ModelFolderError(file, read.error));
    weights.set(parameter.name, read.value);
  }
  for (const parameter of poolerParameters(encoder, '')) {
    findTensor(tensors, layout.prefix, parameter.name)
      .andThen((tensor) => values(tensor, parameter, 0))
      .map((found) => weights.set(parameter.name, found));
  }
  return ok(weights);
}

type Found = NamedTensor & { readonly name: string };

/** Checkpoints converted from TensorFlow call LayerNorm's weight and bias gamma and beta. */
function findTensor(
  tensors: ReadonlyMap<string, NamedTensor>,
  prefix: string,
  name: string,
): Result<Found, string> {
  const old = name.replace('LayerNorm.weight', 'LayerNorm.gamma').replace('LayerNorm.bias', 'LayerNorm.beta');
  for (const candidate of [name, old].flatMap((each) => [prefix + each, each])) {
    const tensor = tensors.get(candidate);
    if (tensor !== undefined) return ok({ ...tensor, name: candidate });
  }
  return err(`has no tensor ${prefix}${name} or ${name}, which config.json asks for`);
}

function values(
  { name, shape, values }: Found,
  parameter: ParameterSpec,
  unusedRows: number,
): Result<Float32Array, string> {
  const [rows = 0, ...rest] = parameter.shape;
  const expected = [rows + unusedRows, ...rest];
  if (shape.join() !== expected.join()) {
    return err(`tensor ${name} is [${shape.join(', ')}], config.json asks for [${expected.join(', ')}]`);
  }
  const width = rest.reduce((product, size) => product * size, 1);
  return ok(values.subarray(unusedRows * width));
}
