import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  isOrchardError,
  type ModelConfig,
  ModelFolderError,
  NotFoundError,
  type TrainingConfig,
} from '../contract/index.js';
import { familyOfType } from '../families/index.js';
import {
  CONFIG_FILE,
  catalogueBackbones,
  hubModels,
  MAX_CONFIG_BYTES,
  type ModelLoader,
  type ModelProgress,
  QUANTIZED_ONNX_FILE,
  readJsonText,
  SHARDS_FILE,
  TOKENIZER_CONFIG_FILE,
  TOKENIZER_FILE,
  WEIGHTS_FILE,
} from '../models/index.js';
import { fields, isInnerName, listOf, recordOf, requireShape, shaped, text } from '../system/index.js';
import { trainingLanguage } from './hyperparameters.js';

/** Finds the files of a backbone; backbone.ts reads them, which needs tokenizers and architectures. */

/** The pieces of a tokenizer, one per line, in folders without a tokenizer.json. */
export const VOCABULARY_FILE = 'vocab.txt';

/** The modules of a sentence-transformers folder. */
export const MODULES_FILE = 'modules.json';
/** Prompts, and how vectors are compared. */
export const SETTINGS_FILE = 'config_sentence_transformers.json';
/** How the module Transformer reads texts. */
export const TRANSFORMER_FILE = 'sentence_bert_config.json';

const BACKBONE_FILES = [
  ...[CONFIG_FILE, WEIGHTS_FILE, SHARDS_FILE, TOKENIZER_FILE, TOKENIZER_CONFIG_FILE, VOCABULARY_FILE],
  // A folder in a cache must not lose its modules: its vectors would be others.
  ...[MODULES_FILE, SETTINGS_FILE, TRANSFORMER_FILE],
];

/** The files that give a folder's vectors or scores, where {@link MODULES_FILE} names no further folders. */
export const ENCODER_FILES: readonly string[] = [...BACKBONE_FILES, QUANTIZED_ONNX_FILE];

/** A module of a sentence-transformers folder. */
export interface SentenceModule {
  /** The last part of its class: `Pooling`; undefined for a class of another package. */
  readonly type: string | undefined;
  readonly fullType: string;
  /** Its folder within the folder; empty for the folder itself. */
  readonly path: string;
}

const modulesShape = listOf(fields({ type: text, path: text }, {}));

/** @returns undefined if the folder has no {@link MODULES_FILE}. @throws ModelFolderError */
export async function transformerModules(directory: string): Promise<readonly SentenceModule[] | undefined> {
  const names: string[] = await readdir(directory).catch(() => []);
  if (!names.includes(MODULES_FILE)) return undefined;
  const file = join(directory, MODULES_FILE);
  const { json } = await readJsonText(directory, MODULES_FILE, MAX_CONFIG_BYTES);
  return requireShape(modulesShape, json, file).map(({ type, path }) => {
    if (path !== '' && !isInnerName(path)) {
      throw new ModelFolderError(file, `path ${path}: expected a folder inside this one`);
    }
    const isKnown = type.startsWith('sentence_transformers.');
    return { type: isKnown ? type.split('.').at(-1) : undefined, fullType: type, path };
  });
}

/** Files that those of {@link ENCODER_FILES} in a folder name: of modules in folders of their own, and of weights in several. */
export async function namedFiles(directory: string): Promise<readonly string[]> {
  const modules = (await transformerModules(directory)) ?? [];
  const ofModules = modules.flatMap(({ path, type }) => {
    if (path === '') return [];
    const names = type === 'Transformer' ? BACKBONE_FILES : [CONFIG_FILE, WEIGHTS_FILE];
    return names.map((name) => `${path}/${name}`);
  });
  return [...ofModules, ...(await shardsIn(directory))];
}

/** A backbone, and the folder with its files. */
export interface BackboneSource {
  /** The name that was asked for, such as `owner/name`. */
  readonly name: string;
  /** The exact version of its files, such as a commit, if its source keeps several. */
  readonly revision?: string;
  /** Absolute path of the folder with its files. */
  readonly directory: string;
}

/** The source of a backbone by its name; null if language and size decide. */
export type LoaderOf = (name: string | null) => ModelLoader;

/** The loader of the options, or the default one. @throws ValidationError for wrong environment variables of the Hub */
export function backboneLoader({
  backbone,
  modelLoader,
}: {
  readonly backbone: string | null;
  readonly modelLoader?: ModelLoader | undefined;
}): LoaderOf {
  if (modelLoader !== undefined) return () => modelLoader;
  const hub = backbone === null ? undefined : hubModels();
  return (name) => (name === null ? catalogueBackbones() : (hub ?? hubModels()));
}

interface AskedModel {
  readonly model_config: Pick<ModelConfig, 'size' | 'type'>;
  readonly training_config: Pick<TrainingConfig, 'language'>;
}

/**
 * Brings the backbone's files to the local disk.
 * @param name null for the one of the job's language and size, if there is any: that for its family before that for all.
 * @returns undefined if there is none.
 * @throws what the loader does; a NotFoundError calls it a backbone, whatever the loader calls its models.
 */
export async function loadBackbone(
  loaderOf: LoaderOf,
  name: string | null,
  job: AskedModel,
  signal: AbortSignal,
  onProgress: (progress: ModelProgress) => void,
): Promise<BackboneSource | undefined> {
  const loader = loaderOf(name);
  for (const asked of name === null ? usualNames(job) : [name]) {
    const load = loader.load(asked, { files: BACKBONE_FILES, signal, onProgress });
    const loaded = await load.catch(name === null ? absent : refuse);
    if (loaded === undefined) continue;
    const shards = await shardsIn(loaded.directory);
    if (shards.length > 0) await loader.load(asked, { files: shards, signal, onProgress });
    const { directory, revision } = loaded;
    return { name: asked, directory, ...(revision !== undefined && { revision }) };
  }
  return undefined;
}

/** The files that the index of a checkpoint names. What is wrong with it is said when it is read. */
async function shardsIn(directory: string): Promise<string[]> {
  const index = await readJsonText(directory, SHARDS_FILE, MAX_CONFIG_BYTES).catch(() => undefined);
  return index === undefined ? [] : shardNames(index.json);
}

const indexShape = fields({ weight_map: recordOf(text) }, {});

/** The files of weights in several files, by the index of their tensors; none if it is no such index. */
export function shardNames(index: unknown): string[] {
  const names = Object.values(shaped(indexShape, index)?.weight_map ?? {});
  return [...new Set(names)].filter(isInnerName);
}

function usualNames({ model_config, training_config }: AskedModel): string[] {
  const general = `${trainingLanguage(training_config)}-${model_config.size}`;
  const ending = familyOfType(model_config.type).backboneEnding;
  return ending === undefined ? [general] : [`${general}-${ending}`, general];
}

/** @throws any error other than that there is no such model. */
function absent(thrown: unknown): undefined {
  if (!isOrchardError(thrown) || thrown.code !== 'not_found') throw thrown;
}

function refuse(thrown: unknown): never {
  if (!isOrchardError(thrown) || thrown.code !== 'not_found') throw thrown;
  throw new NotFoundError('backbone', thrown.id, thrown.hint);
}
