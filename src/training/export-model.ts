import type { ModelConfig } from '../contract/index.js';
import { type Encoder, exportedInputs } from '../encoder/index.js';
import type { Family, FamilyTraining, TaskDescription } from '../families/index.js';
import { Graph, onnxPieces, type Quantization } from '../graph/index.js';
import type { ModelFolderConfig } from '../models/index.js';
import type { ReadingFields } from '../text/index.js';

type OrchardFields = ModelFolderConfig['orchard'];

export function modelFolderConfig(
  encoder: Encoder,
  model: ModelConfig,
  {
    labels,
    pooling,
    words,
    blend,
    evidence,
    files,
    lowercase,
    backbone,
    graph,
    rules,
    ...description
  }: TaskDescription &
    Pick<OrchardFields, 'blend' | 'evidence' | 'files' | 'lowercase' | 'backbone' | 'graph' | 'rules'>,
  reading: ReadingFields,
): ModelFolderConfig {
  return {
    ...encoder.config,
    architectures: [className(encoder, pooling)],
    ...description,
    orchard: {
      format: 1,
      family: model.family,
      type: model.type,
      size: model.size,
      ...(backbone !== undefined && { backbone }),
      labels,
      ...(words && { words }),
      lowercase,
      ...reading,
      pooling,
      files,
      ...(graph !== undefined && { graph }),
      ...(blend && { blend }),
      ...(evidence && { evidence }),
      ...(rules !== undefined && { rules }),
    },
  };
}

/** The class of transformers that loads the weights; with mean pooling that is the bare encoder's. */
function className({ className: bare, textHead, tokenHead }: Encoder, pooling: OrchardFields['pooling']): string {
  return { first: textHead.className, mean: bare, none: tokenHead.className }[pooling];
}

const NOTE =
  "The weights and graphs are the encoder's alone. The model's own answers also count its lexical expert: see orchard.blend and README.md.";

/** A config.json with the fields that other libraries read, besides the encoder's own. */
export function configForOthers(config: ModelFolderConfig, training: FamilyTraining): ModelFolderConfig {
  return { ...config, ...training.transformersClass?.(config), ...(config.orchard.blend && { note: NOTE }) };
}

export async function inferenceGraph(family: Family, encoder: Encoder, config: ModelFolderConfig): Promise<Graph> {
  const { exportedOutputs } = await family.training();
  const graph = new Graph();
  const { name, tensor } = exportedOutputs(graph, encoder, exportedInputs(graph), config);
  graph.output(name, tensor);
  return graph;
}

/**
 * The inference graph as the bytes of a `.onnx` file, in pieces, with the weights inside, some of them as integers if
 * asked for.
 */
export async function exportOnnx(
  family: Family,
  encoder: Encoder,
  config: ModelFolderConfig,
  weights: ReadonlyMap<string, Float32Array>,
  quantization?: Quantization,
): Promise<Iterable<Uint8Array>> {
  return onnxPieces(await inferenceGraph(family, encoder, config), weights, quantization);
}
