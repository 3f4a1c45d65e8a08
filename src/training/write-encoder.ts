import { join } from 'node:path';
import * as z from 'zod';
import { ModelFolderError } from '../contract/index.js';
import { bareName, exportedInputs, pooledStates, tokenStates } from '../encoder/index.js';
import { pooledByGraph } from '../families/index.js';
import { Graph, onnxPieces } from '../graph/index.js';
import {
  CONFIG_FILE,
  encodeSafetensors,
  type ModelFolderConfig,
  SENTENCE_FILE,
  type SentenceActivation,
  type SentenceConfig,
  writeModelFolder,
} from '../models/index.js';
import { type Backbone, LazyWeights, readBackbone, readJson, withHead } from './backbone.js';
import { type BackboneSource, MODULES_FILE, SETTINGS_FILE, transformerModules } from './backbone-files.js';
import {
  activationOf,
  type ReadingSettings,
  readSentenceFolder,
  readSettings,
  readTransformer,
  refusedModule,
} from './sentence-folder.js';

/** Encoders of sentences, and cross-encoders, as folders that are loaded and run as models are. */

/** Without modules.json, texts are read up to this many tokens, as passages are by models that rank them (docs/retrieval.md). */
const MAX_TOKENS = 256;

/** The largest that a model folder may have. */
const MOST_TOKENS = 8192;

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
  await writeEncoderFolder(directory, {
    backbone,
    onnx: onnxPieces(graph, weights),
    reading: defined?.reading ?? { maxTokens: undefined, lowercase: false },
    usualTokens: Math.min(defined === undefined ? MAX_TOKENS : MOST_TOKENS, backbone.maxTokens),
    orchard: { sentence, pooling: pooling ?? 'mean', ...(!sentence.include_prompt && { parts: 'prompt' }) },
    files: new Map(defined === undefined ? [] : [[SENTENCE_FILE, encodeSafetensors(defined.weights)]]),
  });
}

/** The class that sentence-transformers saves for the last layer of one number. */
const PAIR_TASK = 'sequence-classification';

/** @throws ModelFolderError for a model that doesn't give one number for a pair of texts */
export async function exportPairEncoder(source: BackboneSource, directory: string): Promise<void> {
  const { path, reading, activation, prompt } = await readPairFolder(source.directory);
  const backbone = await readBackbone({ ...source, directory: join(source.directory, path) });
  const { encoder, head, weights } = withHead(backbone);
  if (head?.per !== 'text' || head.labels.length !== 1) throw notOneNumber(backbone);
  const { textHead, prefix } = encoder;
  const graph = new Graph();
  const options = { prefix, pooling: textHead.pooling, differentiable: false } as const;
  graph.output('logits', textHead.logits(graph, pooledStates(graph, encoder, exportedInputs(graph), options), 1));
  const value = (name: string) => weights.get(bareName(encoder, name)) ?? new Float32Array();
  const stored = graph.parameters.map(({ name }): [string, () => Float32Array] => [name, () => value(name)]);
  await writeEncoderFolder(directory, {
    backbone,
    onnx: onnxPieces(graph, new LazyWeights(stored)),
    reading,
    usualTokens: backbone.maxTokens,
    orchard: { pooling: 'first', parts: 'pair', pairs: { activation, prompt } },
    files: new Map(),
  });
}

function notOneNumber({ head, encoder, source }: Backbone): ModelFolderError {
  const { className } = encoder.textHead;
  const found =
    head?.per === 'text' ? `it has the labels ${head.labels.slice(0, 5).join(', ')}` : `its class is not ${className}`;
  const reason = `a cross-encoder is a ${className} with one label, but ${found}; loadModel asks classifiers`;
  return new ModelFolderError(join(source.directory, CONFIG_FILE), reason);
}

const activationFields = z.object({
  sentence_transformers: z.object({ activation_fn: z.string().nullish() }).nullish(),
  /** Of releases before 4. */
  sbert_ce_default_activation_function: z.string().nullish(),
});

async function readPairFolder(directory: string) {
  const modules = (await transformerModules(directory)) ?? [];
  const [first, other] = modules;
  const unknown = first?.type === 'Transformer' ? other : first;
  if (unknown !== undefined) {
    throw refusedModule(join(directory, MODULES_FILE), unknown, 'a cross-encoder may have only the module Transformer');
  }
  const settings = await readSettings(directory);
  if (settings.modelType !== undefined && settings.modelType !== 'CrossEncoder') {
    const reason = `a ${settings.modelType} is not a cross-encoder; use a sentence encoder with embed or with \`model\` of search`;
    throw new ModelFolderError(join(directory, SETTINGS_FILE), reason);
  }
  const path = first?.path ?? '';
  const file = join(directory, path, CONFIG_FILE);
  const { data } = activationFields.safeParse(await readJson(join(directory, path), CONFIG_FILE));
  const ofConfig = data?.sentence_transformers?.activation_fn ?? data?.sbert_ce_default_activation_function;
  const activation: SentenceActivation =
    settings.activation !== undefined
      ? activationOf(settings.activation, join(directory, SETTINGS_FILE), 'activation_fn')
      : ofConfig
        ? activationOf(ofConfig, file, 'activation_fn')
        : 'Sigmoid';
  const { prompts, default_prompt: name } = settings.prompts;
  const prompt = name === undefined ? '' : (prompts[name] ?? '');
  return { path, reading: await readTransformer(directory, path, PAIR_TASK), activation, prompt };
}

interface EncoderFolder {
  readonly backbone: Backbone;
  readonly onnx: Iterable<Uint8Array>;
  readonly reading: ReadingSettings;
  /** Read at most, where the settings don't say. */
  readonly usualTokens: number;
  readonly orchard: Pick<ModelFolderConfig['orchard'], 'pooling' | 'parts' | 'sentence' | 'pairs'>;
  readonly files: ReadonlyMap<string, Uint8Array>;
}

async function writeEncoderFolder(directory: string, folder: EncoderFolder): Promise<void> {
  const { backbone, onnx, reading, files } = folder;
  const { encoder, tokenizer, source, lowercase } = backbone;
  const foldsCase = reading.lowercase && !lowercase;
  const max_tokens = Math.min(reading.maxTokens ?? folder.usualTokens, encoder.maxTokens, MOST_TOKENS);
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
      lowercase: lowercase || reading.lowercase,
      max_tokens,
      files: [...files.keys()],
    },
  };
  await writeModelFolder(directory, {
    config,
    tokenizer: [foldsCase && withLowercase, !givesTypes(tokenizer.config) && withoutTypes].reduce<unknown>(
      (json, change) => (change ? change(json) : json),
      tokenizer.json,
    ),
    tokenizerConfig: { ...tokenizer.config, model_max_length: max_tokens },
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

const inputsSchema = z.object({ model_input_names: z.array(z.string()) });

/** Whether transformers' tokenizer gives token types; if not, they are 0, whatever its template says. */
function givesTypes(config: unknown): boolean {
  const { data } = inputsSchema.safeParse(config);
  return data === undefined || data.model_input_names.includes('token_type_ids');
}

const postProcessorSchema = z.looseObject({ post_processor: z.unknown() });

/** The content of a tokenizer.json whose second text has the token type of the first. */
function withoutTypes(json: unknown): unknown {
  const { post_processor, ...others } = postProcessorSchema.parse(json);
  const zero = (name: string, value: unknown) => (name === 'type_id' ? 0 : value);
  return { ...others, post_processor: JSON.parse(JSON.stringify(post_processor ?? null, zero)) };
}
