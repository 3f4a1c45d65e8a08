import { cp, mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import * as z from 'zod';
import { ModelFolderError } from '../contract/index.js';
import { exportedInputs, pooledStates, readEncoder, tokenStates } from '../encoder/index.js';
import { familyOfModel, pooledByGraph } from '../families/index.js';
import { Graph, onnxPieces, restoredWeights } from '../graph/index.js';
import {
  CONFIG_FILE,
  decodeWeights,
  encodeSafetensors,
  type ModelFolderConfig,
  type NamedTensor,
  ONNX_FILE,
  QUANTIZED_ONNX_FILE,
  readConfig,
  readFolderFile,
  SENTENCE_FILE,
  type SentenceConfig,
  safetensorsPieces,
  WEIGHTS_FILE,
  writeModelFolder,
} from '../models/index.js';
import { type Backbone, readBackbone } from './backbone.js';
import { type BackboneSource, MODULES_FILE } from './backbone-files.js';
import type { CopiedWeights } from './convert-folder.js';
import { configForOthers, inferenceGraph } from './export-model.js';
import { readSentenceFolder } from './sentence-folder.js';

/** Copies of a model folder with other weights: in float32 for other libraries, or in 8 bits alone, which take least space. */

/** Files that hold weights, and those that follow from them. */
const WEIGHTS: readonly string[] = [CONFIG_FILE, WEIGHTS_FILE, ONNX_FILE, QUANTIZED_ONNX_FILE];

type Content = string | Uint8Array | Iterable<Uint8Array>;

/**
 * Fills an empty folder with a copy of a model.
 * @throws ModelFolderError for a model that lacks what the copy needs; nothing was written then.
 */
export async function writeConvertedFolder(directory: string, output: string, weights: CopiedWeights): Promise<void> {
  const config = await readConfig(directory);
  const files = await { float32: floatFiles, int8: integerFiles }[weights](directory, config);
  await cp(directory, output, { recursive: true, dereference: true, filter: isKept(directory) });
  for (const [name, content] of files) {
    await mkdir(dirname(join(output, name)), { recursive: true });
    await writeFile(join(output, name), content);
  }
}

function isKept(directory: string): (path: string) => boolean {
  return (path) => !WEIGHTS.includes(relative(directory, path).replaceAll(sep, '/'));
}

async function floatFiles(directory: string, config: ModelFolderConfig): Promise<Map<string, Content>> {
  const file = join(directory, CONFIG_FILE);
  const encoder = readEncoder(config, file);
  const family = familyOfModel(config, file);
  const training = await family.training();
  const { graph: _, ...orchard } = config.orchard;
  const described = configForOthers({ ...config, orchard }, training);
  const graph = await inferenceGraph(family, encoder, described);
  const stored = await storedWeights(directory);
  const tensors = new Map(
    graph.parameters.map(({ name }): [string, NamedTensor] => {
      const tensor = stored.get(name);
      if (tensor !== undefined) return [name, tensor];
      throw new ModelFolderError(join(directory, WEIGHTS_FILE), `lacks the tensor ${name}`);
    }),
  );
  const values = new Map([...tensors].map(([name, tensor]) => [name, tensor.values]));
  const guards = training.companionTensors?.(encoder, described) ?? [];
  return new Map<string, Content>([
    ...(training.companions?.(encoder, described) ?? []),
    [CONFIG_FILE, json(described)],
    [WEIGHTS_FILE, safetensorsPieces(new Map([...tensors, ...guards]))],
    [ONNX_FILE, onnxPieces(graph, values)],
  ]);
}

async function integerFiles(directory: string, config: ModelFolderConfig): Promise<Map<string, Content>> {
  if (config.orchard.graph !== QUANTIZED_ONNX_FILE) {
    const reason = 'the model answers by float32 weights and has none in 8 bits: train it with tuning.quantize';
    throw new ModelFolderError(join(directory, QUANTIZED_ONNX_FILE), reason);
  }
  return new Map<string, Content>([
    [CONFIG_FILE, json(config)],
    [QUANTIZED_ONNX_FILE, await readFolderFile(directory, QUANTIZED_ONNX_FILE)],
  ]);
}

/** From the safetensors, or, where there are none, from the graph in 8 bits. */
async function storedWeights(directory: string): Promise<ReadonlyMap<string, NamedTensor>> {
  const names = await readdir(directory);
  if (names.includes(WEIGHTS_FILE)) {
    return decodeWeights(await readFolderFile(directory, WEIGHTS_FILE), join(directory, WEIGHTS_FILE));
  }
  try {
    return await restoredWeights(await readFolderFile(directory, QUANTIZED_ONNX_FILE));
  } catch (cause) {
    if (cause instanceof ModelFolderError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ModelFolderError(join(directory, QUANTIZED_ONNX_FILE), reason, { cause });
  }
}

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;

/** Without modules.json, texts are read up to this many tokens, as passages are by models that rank them (docs/retrieval.md). */
const MAX_TOKENS = 256;

/** What a folder without modules.json gives: the mean, of unit length. */
const plainSentence = { pooling: ['mean'], include_prompt: true, layers: [{ type: 'Normalize' }] } as const;

export async function exportSentenceEncoder(source: BackboneSource, directory: string): Promise<void> {
  const defined = await readSentenceFolder(source.directory);
  const backbone = await readBackbone({ ...source, directory: join(source.directory, defined?.path ?? '') });
  const { encoder, weights } = backbone;
  if (defined?.width !== undefined && defined.width !== encoder.width) {
    const reason = `its Pooling is for ${defined.width} numbers per token, but the encoder gives ${encoder.width}`;
    throw new ModelFolderError(join(source.directory, MODULES_FILE), reason);
  }
  const sentence: SentenceConfig =
    defined === undefined
      ? { ...plainSentence, width: encoder.width, prompts: {}, similarity: 'cosine' }
      : {
          ...{ width: encoder.width, pooling: defined.pooling, include_prompt: defined.includePrompt },
          ...{ layers: defined.layers, ...defined.prompts },
        };
  const graph = new Graph();
  const pooling = pooledByGraph(sentence);
  const inputs = exportedInputs(graph);
  if (pooling === undefined) graph.output('last_hidden_state', tokenStates(graph, encoder, inputs));
  else {
    const options = { prefix: '', pooling, differentiable: false } as const;
    graph.output('sentence_vector', pooledStates(graph, encoder, inputs, options));
  }
  const limit = defined?.reading.maxTokens;
  const usual = defined === undefined ? Math.min(MAX_TOKENS, backbone.maxTokens) : backbone.maxTokens;
  await writeEncoderFolder(directory, {
    backbone,
    onnx: onnxPieces(graph, weights),
    maxTokens: limit === undefined ? usual : Math.min(limit, encoder.maxTokens),
    lowercase: defined?.reading.lowercase ?? false,
    orchard: { sentence, pooling: pooling ?? 'mean', ...(!sentence.include_prompt && { parts: 'prompt' }) },
    files: new Map(defined === undefined ? [] : [[SENTENCE_FILE, encodeSafetensors(defined.weights)]]),
  });
}

interface EncoderFolder {
  readonly backbone: Backbone;
  readonly onnx: Iterable<Uint8Array>;
  readonly maxTokens: number;
  /** Whether the tokenizer first folds texts to lower case. */
  readonly lowercase: boolean;
  readonly orchard: Pick<ModelFolderConfig['orchard'], 'pooling' | 'parts' | 'sentence' | 'pairs'>;
  readonly files: ReadonlyMap<string, Uint8Array>;
}

async function writeEncoderFolder(directory: string, folder: EncoderFolder): Promise<void> {
  const { backbone, onnx, maxTokens, files } = folder;
  const { encoder, tokenizer, source, lowercase } = backbone;
  const config: ModelFolderConfig = {
    ...encoder.config,
    architectures: [encoder.className],
    id2label: {},
    label2id: {},
    orchard: {
      ...{
        format: 1,
        family: 'Dragonfruit',
        type: 'question-answering',
        size: 'mini',
        backbone: source.name,
        labels: [],
      },
      ...folder.orchard,
      lowercase: lowercase || folder.lowercase,
      max_tokens: maxTokens,
      files: [...files.keys()],
    },
  };
  await writeModelFolder(directory, {
    config,
    tokenizer: folder.lowercase && !lowercase ? withLowercase(tokenizer.json) : tokenizer.json,
    tokenizerConfig: { ...tokenizer.config, model_max_length: maxTokens },
    onnx,
    files,
  });
}

const tokenizerJsonSchema = z.looseObject({ normalizer: z.record(z.string(), z.unknown()).nullish() });

/** The content of a tokenizer.json that first folds texts to lower case, as sentence-transformers' `do_lower_case`. */
function withLowercase(json: unknown): unknown {
  const { normalizer, ...others } = tokenizerJsonSchema.parse(json);
  const normalizers = [{ type: 'Lowercase' }, ...(normalizer ? [normalizer] : [])];
  return { ...others, normalizer: { type: 'Sequence', normalizers } };
}
