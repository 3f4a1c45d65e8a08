import { cp, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  CARD_FILE,
  CONFIG_FILE,
  type ModelFolderConfig,
  ONNX_FILE,
  openModelFolder,
  readModelReport,
  TOKENIZER_CONFIG_FILE,
  TOKENIZER_FILE,
  TRAINING_FILE,
} from '../../../src/models/index.js';
import { catalogueCard } from './card.js';
import {
  DATA_FILE,
  FIGURES_FILE,
  factsFile,
  figuresSchema,
  NOTICE_FILE,
  ROBUSTNESS_FILE,
  readFacts,
  robustnessSchema,
  type TrainingData,
  trainingDataSchema,
} from './model-facts.js';
import { replacePassages } from './passages.js';
import type { Recipe } from './recipe.js';
import { asTrained } from './teach.js';
import { modelWork, trainedFolder } from './train.js';
import { usageTerms } from './usage-terms.js';

/** Largest size of a published file. */
export const MAX_FILE_BYTES = 40_000_000;

export interface ExportOptions {
  /** The folder that holds every dataset. */
  readonly datasets: string;
  /** Where the model was trained. */
  readonly work: string;
  /** The folder of the catalogue, of which the model becomes a subfolder. */
  readonly catalogue: string;
  readonly threads: number;
}

/**
 * Files that answering needs, with only the graph that answers. The float32 weights stay behind, and so does
 * evaluation.json, which quotes the datasets.
 */
function shippedFiles({ orchard }: ModelFolderConfig): string[] {
  return [
    CONFIG_FILE,
    TOKENIZER_FILE,
    TOKENIZER_CONFIG_FILE,
    TRAINING_FILE,
    orchard.graph ?? ONNX_FILE,
    ...orchard.files,
  ];
}

/** Copies a trained model into the catalogue, with its card; figures of an earlier model are removed. */
export async function exportModel(recipe: Recipe, options: ExportOptions): Promise<void> {
  const trained = await trainedFolder(recipe, options.work);
  const data = await readFacts(modelWork(options.work, recipe), DATA_FILE, trainingDataSchema);
  if (data === undefined) throw new Error(`${recipe.name}: its archive was not written by this recipe`);
  refuseOtherData(recipe, data);
  const { config } = await openModelFolder(trained);
  const target = join(options.catalogue, recipe.name);
  await rm(target, { recursive: true, force: true });
  for (const file of shippedFiles(config)) {
    await mkdir(dirname(join(target, file)), { recursive: true });
    await cp(join(trained, file), join(target, file));
  }
  if (recipe.family === 'Dragonfruit') {
    await replacePassages(target, await recipe.passages.read(options.datasets), options.threads);
    await writeFile(join(target, NOTICE_FILE), recipe.passages.notice);
  }
  await writeFile(join(target, DATA_FILE), factsFile(data));
  await writeConfig(recipe, target);
  await writeCard(recipe, target);
  await checkSizes(target);
}

/** A model is trained once in a folder, whatever a later command says of its data. */
function refuseOtherData({ name, sources, unlabelled = [] }: Recipe, data: TrainingData): void {
  const titles = (all: readonly { readonly title: string }[]) => all.map(({ title }) => title).join('; ');
  if (titles(data.sources) === titles([...sources, ...unlabelled])) return;
  throw new Error(`${name}: trained on other data (${titles(data.sources)}); give another --work folder`);
}

/**
 * Writes into config.json what the model's data allow, and takes out the name of the class for Python's transformers:
 * its file and the weights that it reads stay behind.
 */
export async function writeConfig(recipe: Recipe, directory: string): Promise<void> {
  const { config } = await openModelFolder(directory);
  // undefined takes an earlier mark away
  const licence = usageTerms(asTrained(recipe, await shippedData(directory)));
  const marked = { ...config, auto_map: undefined, orchard: { ...config.orchard, licence } };
  await writeFile(join(directory, CONFIG_FILE), `${JSON.stringify(marked, undefined, 2)}\n`);
}

/** Writes the card again from the files in a model's folder. */
export async function writeCard(recipe: Recipe, directory: string): Promise<void> {
  const report = await readModelReport(directory);
  const data = await shippedData(directory);
  const figures = await readFacts(directory, FIGURES_FILE, figuresSchema);
  const robustness = await readFacts(directory, ROBUSTNESS_FILE, robustnessSchema);
  const card = join(directory, CARD_FILE);
  const sizes = [...(await fileSizes(directory))].filter(([path]) => path !== card);
  const bytes = sizes.reduce((sum, [, size]) => sum + size, 0);
  await writeFile(card, catalogueCard(asTrained(recipe, data), { ...report, data, figures, robustness, bytes }));
}

async function shippedData(directory: string): Promise<TrainingData> {
  const data = await readFacts(directory, DATA_FILE, trainingDataSchema);
  if (data === undefined) throw new Error(`${directory} has no ${DATA_FILE}; export the model again`);
  return data;
}

/** Size of each file of a folder, by its path. */
export async function fileSizes(directory: string): Promise<ReadonlyMap<string, number>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return new Map(await Promise.all(paths.map(async (path) => [path, (await stat(path)).size] as const)));
}

async function checkSizes(directory: string): Promise<void> {
  for (const [path, bytes] of await fileSizes(directory)) {
    if (bytes > MAX_FILE_BYTES) throw new Error(`${path}: ${bytes} bytes are more than ${MAX_FILE_BYTES}`);
  }
}
