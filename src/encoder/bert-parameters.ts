import type { BertConfig } from './bert-config.js';
import { linearParameters, type ParameterSpec, vector, weight } from './parameter.js';

/** Every parameter of the encoder under the name that Hugging Face's BertModel gives it, after `prefix`. */
export function bertParameters(config: BertConfig, prefix: string): ParameterSpec[] {
  const layers = Array.from({ length: config.num_hidden_layers }, (_, layer) =>
    layerParameters(config, `${prefix}encoder.layer.${layer}`),
  );
  return [...embeddingParameters(config, `${prefix}embeddings`), ...layers.flat()];
}

/** The pooler: tanh of a linear layer over the hidden state of the [CLS] token. */
export function poolerParameters(
  { hidden_size, initializer_range }: BertConfig,
  prefix: string,
): ParameterSpec[] {
  return linearParameters(`${prefix}pooler.dense`, hidden_size, hidden_size, initializer_range);
}

function embeddingParameters(config: BertConfig, name: string): ParameterSpec[] {
  const { hidden_size: width, initializer_range: deviation } = config;
  return [
    weight(`${name}.word_embeddings.weight`, [config.vocab_size, width], deviation),
    weight(`${name}.position_embeddings.weight`, [config.max_position_embeddings, width], deviation),
    weight(`${name}.token_type_embeddings.weight`, [config.type_vocab_size, width], deviation),
    ...layerNormParameters(`${name}.LayerNorm`, width),
  ];
}

function layerParameters(config: BertConfig, name: string): ParameterSpec[] {
  const { hidden_size: width, intermediate_size: inner, initializer_range: deviation } = config;
  return [
    ...linearParameters(`${name}.attention.self.query`, width, width, deviation),
    ...linearParameters(`${name}.attention.self.key`, width, width, deviation),
    ...linearParameters(`${name}.attention.self.value`, width, width, deviation),
    ...linearParameters(`${name}.attention.output.dense`, width, width, deviation),
    ...layerNormParameters(`${name}.attention.output.LayerNorm`, width),
    ...linearParameters(`${name}.intermediate.dense`, width, inner, deviation),
    ...linearParameters(`${name}.output.dense`, inner, width, deviation),
    ...layerNormParameters(`${name}.output.LayerNorm`, width),
  ];
}

/** γ and β of a LayerNorm. */
export function layerNormParameters(name: string, width: number): ParameterSpec[] {
  return [vector(`${name}.weight`, width, 1), vector(`${name}.bias`, width, 0)];
}
