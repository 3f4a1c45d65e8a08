import { exportedInputs, pooledStates } from '../encoder/index.js';
import { Graph, onnxPieces } from '../graph/index.js';
import { type ModelFolderConfig, writeModelFolder } from '../models/index.js';
import { readBackbone } from './backbone.js';
import type { BackboneSource } from './backbone-files.js';

/** Texts are read up to this many tokens, as passages are by models that rank them (docs/retrieval.md). */
const MAX_TOKENS = 256;

const TYPE = 'question-answering';

/** As `writeSentenceEncoder` says. */
export async function exportSentenceEncoder(source: BackboneSource, directory: string): Promise<void> {
  const { encoder, weights, tokenizer, lowercase, maxTokens } = await readBackbone(source);
  const graph = new Graph();
  const options = { prefix: '', pooling: 'mean', differentiable: false } as const;
  graph.output('sentence_vector', pooledStates(graph, encoder, exportedInputs(graph), options));
  const max_tokens = Math.min(MAX_TOKENS, maxTokens);
  const config: ModelFolderConfig = {
    ...encoder.config,
    architectures: [encoder.className],
    id2label: {},
    label2id: {},
    orchard: {
      format: 1,
      family: 'Dragonfruit',
      type: TYPE,
      size: 'mini',
      backbone: source.name,
      labels: [],
      pooling: 'mean',
      lowercase,
      max_tokens,
      files: [],
    },
  };
  await writeModelFolder(directory, {
    config,
    tokenizer: tokenizer.json,
    tokenizerConfig: { ...tokenizer.config, model_max_length: max_tokens },
    onnx: await onnxPieces(graph, weights),
    files: new Map(),
  });
}
