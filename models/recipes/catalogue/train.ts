import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  type Device,
  fileStorage,
  folderModels,
  type ModelType,
  Trainer,
  type TrainingStats,
} from '../../../src/index.js';
import { writeArchive } from './archives.js';
import { DATA_FILE, factsFile } from './model-facts.js';
import type { Recipe } from './recipe.js';

export interface TrainOptions {
  /** The folder that holds every dataset. */
  readonly datasets: string;
  /**
   * Where archives and trained models are kept, in a folder for each model. A stopped training run is
   * resumed there.
   */
  readonly work: string;
  /** Folder of the encoder to start from. Default: random weights. */
  readonly backbone?: string | undefined;
  readonly threads: number;
  /** Where encoders are trained. */
  readonly device: Device;
  readonly seed: number;
  /** Called with lines about the progress. Default: prints them. */
  readonly log?: (line: string) => void;
}

/** Where a model is kept until it is exported. */
export const modelWork = (work: string, { name }: Pick<Recipe, 'name'>): string => join(work, name);
export const modelStorage = (work: string, recipe: Pick<Recipe, 'name'>) =>
  fileStorage(join(modelWork(work, recipe), 'storage'));

/**
 * Trains a model of the catalogue through the public API, or resumes what an earlier call left. A trained
 * model is kept: delete its folder to train it again.
 * @throws Error if the training fails
 */
export async function trainModel(recipe: Recipe, options: TrainOptions): Promise<void> {
  const { work, backbone, threads, device, seed, log = console.log } = options;
  await using trainer = new Trainer({
    storage: modelStorage(work, recipe),
    // A worker thread would need a built file; these commands run the sources.
    isolation: 'inline',
    threads,
    device,
    seed,
    tuning: { quantize: true, ...recipe.tuning },
    ...(backbone !== undefined && {
      backbone: basename(resolve(backbone)),
      modelLoader: folderModels(dirname(resolve(backbone))),
    }),
  });
  const id = (await unfinishedOrReady(trainer)) ?? (await createJob(trainer, recipe, options));
  for await (const event of trainer.watch(id)) {
    if (event.type === 'epoch') log(`  epoch ${event.stats.epoch}: ${devFigures(event.stats)}`);
    if (event.type === 'state') log(`${recipe.name}: ${event.status}`);
  }
  const { status, error } = (await trainer.getTrainingJob(id))._unsafeUnwrap();
  if (status !== 'READY') throw new Error(`${recipe.name}: ${status} ${error?.message ?? ''}`);
}

/** Where a model that had a teacher is kept until it is exported. */
export const taughtFolder = (work: string, recipe: Pick<Recipe, 'name'>) => join(modelWork(work, recipe), 'taught');

/** Folder of a trained model: of the one that had a teacher if the recipe has texts for one. @throws Error if there is none */
export async function trainedFolder(recipe: Recipe, work: string): Promise<string> {
  if (recipe.unlabelled !== undefined) {
    const taught = taughtFolder(work, recipe);
    if (existsSync(taught)) return taught;
    throw new Error(`${recipe.name}: not taught in ${work}; run teach first, or add --untaught`);
  }
  const storage = modelStorage(work, recipe);
  await using trainer = new Trainer({ storage, isolation: 'inline' });
  const { data } = (await trainer.listModels({ trainingStatus: 'READY', limit: 1 }))._unsafeUnwrap();
  const [model] = data;
  const directory = model && (await storage.openFolder(model.id));
  if (directory === undefined) throw new Error(`${recipe.name}: not trained in ${work}`);
  return directory;
}

/** The last job, unless it came to nothing. */
async function unfinishedOrReady(trainer: Trainer): Promise<string | undefined> {
  const { data } = (await trainer.listTrainingJobs({ limit: 1 }))._unsafeUnwrap();
  const [last] = data;
  return last === undefined || ['ERROR', 'CANCELLED'].includes(last.status) ? undefined : last.model.id;
}

async function createJob(
  trainer: Trainer,
  recipe: Recipe,
  { datasets, work, backbone, seed, log = console.log }: TrainOptions,
): Promise<string> {
  const folder = modelWork(work, recipe);
  const path = join(folder, 'archive.zip');
  await mkdir(folder, { recursive: true });
  const data = await writeArchive(recipe, { datasets, path, seed });
  await writeFile(join(folder, DATA_FILE), factsFile(data));
  log(`${recipe.name}: ${data.train} rows to train on, ${data.dev} for dev`);
  const job = await trainer.createTrainingJob({
    dataset_url: pathToFileURL(path).href,
    model_config: { name: recipe.job, size: 'mini', type: modelType(recipe), family: recipe.family },
    training_config: {
      language: recipe.language,
      use_pretrained: backbone !== undefined,
      ...recipe.training,
    },
  });
  if (job.isErr()) throw job.error;
  return job.value.id;
}

export function modelType(recipe: Recipe): ModelType {
  switch (recipe.family) {
    case 'Papaya':
      return recipe.type;
    case 'Grapefruit':
      return 'named-entity-recognition';
    case 'Dragonfruit':
      return 'question-answering';
  }
}

function devFigures({ metrics: { training, validation } }: TrainingStats): string {
  const { accuracy, f1, topk } = validation;
  const figures = {
    loss: training.loss.at(-1),
    'dev accuracy': accuracy?.at(-1),
    f1: f1?.at(-1),
    'top 1': topk?.at(-1)?.[1],
  };
  return Object.entries(figures)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value.toFixed(3)}`]))
    .join(', ');
}
