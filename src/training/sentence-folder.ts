import { join } from 'node:path';
import { ModelFolderError } from '../contract/index.js';
import {
  CONFIG_FILE,
  decodeWeights,
  type NamedTensor,
  POOLING_MODES,
  type PoolingMode,
  readFolderFile,
  SENTENCE_ACTIVATIONS,
  type SentenceActivation,
  type SentenceConfig,
  type SentenceLayer,
  SIMILARITIES,
  WEIGHTS_FILE,
} from '../models/index.js';
import { fields, flag, listOf, nullable, object, oneOf, recordOf, requireShape, text, whole } from '../system/index.js';
import { readJson } from './backbone.js';
import {
  MODULES_FILE,
  SETTINGS_FILE,
  type SentenceModule,
  TRANSFORMER_FILE,
  transformerModules,
} from './backbone-files.js';

/** A folder of sentence-transformers: what its modules compute after the encoder, and how texts come before it. */

export interface SentenceFolder {
  /** Of the module Transformer, within the folder; empty for the folder itself. */
  readonly path: string;
  readonly reading: ReadingSettings;
  readonly pooling: readonly PoolingMode[];
  /** Of the token states; undefined where Pooling doesn't say. */
  readonly width: number | undefined;
  readonly includePrompt: boolean;
  readonly layers: readonly SentenceLayer[];
  /** Of the layers, as {@link SENTENCE_FILE} has them. */
  readonly weights: ReadonlyMap<string, NamedTensor>;
  readonly prompts: Pick<SentenceConfig, 'prompts' | 'default_prompt' | 'similarity'>;
}

/** Of the module Transformer. */
export interface ReadingSettings {
  readonly maxTokens: number | undefined;
  /** Whether texts are folded to lower case before the tokenizer's own steps. */
  readonly lowercase: boolean;
}

/** @returns undefined for a folder without modules. @throws ModelFolderError that names what can't be computed here */
export async function readSentenceFolder(directory: string): Promise<SentenceFolder | undefined> {
  const modules = await transformerModules(directory);
  if (modules === undefined) return undefined;
  const file = join(directory, MODULES_FILE);
  const [first, second, ...others] = modules;
  if (first?.type !== 'Transformer') throw refusedModule(file, first, 'the first module must be Transformer');
  if (second?.type !== 'Pooling') throw refusedModule(file, second, 'the second module must be Pooling');
  const { prompts, modelType } = await readSettings(directory);
  if (modelType !== undefined && modelType !== 'SentenceTransformer') {
    throw new ModelFolderError(join(directory, SETTINGS_FILE), `a ${modelType} gives no vectors of texts`);
  }
  const pooling = await readPooling(directory, second.path);
  const { layers, weights } = await readLayers(directory, others);
  const reading = await readTransformer(directory, first.path);
  return { path: first.path, reading, ...pooling, layers, weights, prompts };
}

export function refusedModule(file: string, module: SentenceModule | undefined, reason: string): ModelFolderError {
  return new ModelFolderError(file, `its module ${module?.fullType ?? 'is missing and'} can't be run here: ${reason}`);
}

const settingsShape = fields(
  {},
  {
    model_type: nullable(text),
    prompts: nullable(recordOf(nullable(text))),
    default_prompt_name: nullable(text),
    similarity_fn_name: nullable(oneOf(...SIMILARITIES)),
    activation_fn: nullable(text),
  },
);

interface FolderSettings {
  readonly modelType: string | undefined;
  readonly prompts: SentenceFolder['prompts'];
  /** Of a cross-encoder: the full name of its class. */
  readonly activation: string | undefined;
}

/** Of config_sentence_transformers.json; the defaults if there is none. @throws ModelFolderError */
export async function readSettings(directory: string): Promise<FolderSettings> {
  const file = join(directory, SETTINGS_FILE);
  const json = await readJson(directory, SETTINGS_FILE);
  const settings = requireShape(settingsShape, json ?? {}, file);
  const named = Object.entries(settings.prompts ?? {}).map(([name, prompt]) => [name, prompt ?? ''] as const);
  const prompts = Object.fromEntries(named);
  const name = settings.default_prompt_name ?? undefined;
  if (name !== undefined && !Object.hasOwn(prompts, name)) {
    throw new ModelFolderError(file, `default_prompt_name: there is no prompt ${JSON.stringify(name)} in prompts`);
  }
  return {
    modelType: settings.model_type ?? undefined,
    prompts: {
      prompts,
      ...(name !== undefined && { default_prompt: name }),
      similarity: settings.similarity_fn_name ?? 'cosine',
    },
    activation: settings.activation_fn ?? undefined,
  };
}

const transformerShape = fields(
  {},
  { max_seq_length: nullable(whole(1)), do_lower_case: nullable(flag), transformer_task: nullable(text) },
);

/** @param path of the module in the folder. @param task for which the module must be. @throws ModelFolderError */
export async function readTransformer(
  directory: string,
  path: string,
  task = 'feature-extraction',
): Promise<ReadingSettings> {
  const name = inner(path, TRANSFORMER_FILE);
  const json = await readJson(directory, name);
  const settings = requireShape(transformerShape, json ?? {}, join(directory, name));
  const { transformer_task: given = task } = settings;
  if (given !== null && given !== task) {
    throw new ModelFolderError(join(directory, name), `transformer_task: ${given} can't be run here, only ${task}`);
  }
  return { maxTokens: settings.max_seq_length ?? undefined, lowercase: settings.do_lower_case ?? false };
}

/** The name of a module's file in the whole folder. */
const inner = (path: string, name: string): string => (path === '' ? name : `${path}/${name}`);

const modeShape = oneOf(...POOLING_MODES);
const poolingShape = fields(
  {},
  {
    embedding_dimension: whole(1),
    word_embedding_dimension: whole(1),
    include_prompt: flag,
    pooling_mode_cls_token: flag,
    pooling_mode_max_tokens: flag,
    pooling_mode_mean_tokens: flag,
    pooling_mode_mean_sqrt_len_tokens: flag,
    pooling_mode_weightedmean_tokens: flag,
    pooling_mode_lasttoken: flag,
  },
);
const oneModeShape = fields({ pooling_mode: modeShape }, {});
const modesShape = fields({ pooling_mode: listOf(modeShape, POOLING_MODES.length) }, {});

async function readPooling(
  directory: string,
  path: string,
): Promise<Pick<SentenceFolder, 'pooling' | 'width' | 'includePrompt'>> {
  const { json, file } = await moduleConfig(directory, path);
  const pooling = requireShape(poolingShape, json, file);
  return {
    pooling: modesOf(json, pooling, file),
    width: pooling.embedding_dimension ?? pooling.word_embedding_dimension,
    includePrompt: pooling.include_prompt ?? true,
  };
}

/** Older files have a flag for each mode, whose vectors stand in the order of the list. */
function modesOf(json: object, flags: Partial<Record<string, unknown>>, file: string): readonly PoolingMode[] {
  if ('pooling_mode' in json) {
    if (!Array.isArray(json.pooling_mode)) return [requireShape(oneModeShape, json, file).pooling_mode];
    const { pooling_mode: modes } = requireShape(modesShape, json, file);
    if (modes.length > 0) return modes;
    throw new ModelFolderError(file, 'pooling_mode: the list is empty');
  }
  const names: Readonly<Record<PoolingMode, string>> = {
    cls: 'pooling_mode_cls_token',
    max: 'pooling_mode_max_tokens',
    mean: 'pooling_mode_mean_tokens',
    mean_sqrt_len_tokens: 'pooling_mode_mean_sqrt_len_tokens',
    weightedmean: 'pooling_mode_weightedmean_tokens',
    lasttoken: 'pooling_mode_lasttoken',
  };
  const active = POOLING_MODES.filter((mode) => flags[names[mode]] === true);
  return active.length === 0 ? ['mean'] : active;
}

const SENTENCE_INPUT = 'sentence_embedding';
const denseShape = fields(
  { in_features: whole(1), out_features: whole(1) },
  {
    bias: flag,
    activation_function: nullable(text),
    use_residual: flag,
    module_input_name: oneOf(SENTENCE_INPUT),
    module_output_name: nullable(oneOf(SENTENCE_INPUT)),
  },
);
const normalizeShape = fields(
  {},
  { module_input_name: oneOf(SENTENCE_INPUT), module_output_name: nullable(oneOf(SENTENCE_INPUT)) },
);

type Layers = Pick<SentenceFolder, 'layers' | 'weights'>;

async function readLayers(directory: string, modules: readonly SentenceModule[]): Promise<Layers> {
  const layers: SentenceLayer[] = [];
  const weights = new Map<string, NamedTensor>();
  const take = async (path: string, names: Readonly<Record<string, string>>) => {
    const name = inner(path, WEIGHTS_FILE);
    const file = join(directory, name);
    const tensors = decodeWeights(await readFolderFile(directory, name), file);
    for (const [stored, own] of Object.entries(names)) {
      const tensor = tensors.get(stored);
      if (tensor === undefined) throw new ModelFolderError(file, `has no tensor ${stored}`);
      weights.set(`${layers.length}.${own}`, tensor);
    }
  };
  for (const module of modules) {
    const { type, path } = module;
    // Dropout does nothing outside training.
    if (type === 'Dropout') continue;
    if (type === 'Normalize') {
      const name = inner(path, CONFIG_FILE);
      requireShape(normalizeShape, (await readJson(directory, name)) ?? {}, join(directory, name));
      layers.push({ type });
    } else if (type === 'LayerNorm') {
      await take(path, { 'norm.weight': 'weight', 'norm.bias': 'bias' });
      layers.push({ type });
    } else if (type === 'Dense') {
      const { json, file } = await moduleConfig(directory, path);
      const dense = requireShape(denseShape, json, file);
      const residual = dense.use_residual ?? false;
      const isProjected = residual && dense.in_features !== dense.out_features;
      await take(path, {
        'linear.weight': 'weight',
        ...((dense.bias ?? true) && { 'linear.bias': 'bias' }),
        ...(isProjected && { 'residual.weight': 'residual' }),
      });
      // As sentence-transformers: Tanh unless the file says.
      const name = dense.activation_function ?? 'torch.nn.modules.activation.Tanh';
      layers.push({ type, activation: activationOf(name, file, 'activation_function'), ...(residual && { residual }) });
    } else {
      throw refusedModule(
        join(directory, MODULES_FILE),
        module,
        'use Transformer, Pooling, Dense, LayerNorm, Normalize or Dropout',
      );
    }
  }
  return { layers, weights };
}

/** @param name of a class of PyTorch: `torch.nn.modules.activation.Tanh`. @throws ModelFolderError */
export function activationOf(name: string, file: string, field: string): SentenceActivation {
  const last = name.split('.').at(-1);
  const known = SENTENCE_ACTIVATIONS.find((each) => each === last);
  if (known !== undefined && name.startsWith('torch.nn.')) return known;
  throw new ModelFolderError(
    file,
    `${field}: ${name} can't be computed here; use ${SENTENCE_ACTIVATIONS.join(', ')} of torch.nn`,
  );
}

async function moduleConfig(directory: string, path: string) {
  const name = inner(path, CONFIG_FILE);
  const file = join(directory, name);
  const json = await readJson(directory, name);
  if (json === undefined) throw new ModelFolderError(file, `${MODULES_FILE} asks for it, but it is missing`);
  return { json: requireShape(object, json, file), file };
}
