import type { ModelConfig } from '../contract/index.js';
import { type BertConfig, exportedInputs } from '../encoder/index.js';
import type { Family, PartFigures, TaskDescription } from '../families/index.js';
import { Graph, toOnnx } from '../graph/index.js';
import type { ModelFolderConfig } from '../model-folder/index.js';

/** Name of the output that other libraries expect of a classifier. */
const OUTPUT = 'logits';

/** The config.json of a trained model. */
export function modelFolderConfig(
  encoder: BertConfig,
  model: ModelConfig,
  { labels, pooling, blend, ...description }: TaskDescription & { blend: PartFigures['weights'] },
  maxTokens: number,
): ModelFolderConfig {
  return {
    ...encoder,
    ...description,
    orchard: {
      format: 1,
      family: model.family,
      type: model.type,
      size: model.size,
      labels,
      pooling,
      max_tokens: maxTokens,
      blend,
    },
  };
}

/** The inference graph with these weights inside, as the bytes of a `.onnx` file. */
export function exportOnnx(
  family: Family,
  encoder: BertConfig,
  config: ModelFolderConfig,
  weights: ReadonlyMap<string, Float32Array>,
): Uint8Array {
  const graph = new Graph();
  graph.output(OUTPUT, family.exportedOutputs(graph, encoder, exportedInputs(graph), config));
  return toOnnx(graph, weights);
}
