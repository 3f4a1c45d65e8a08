import { writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { type DistilledModel, distill, orThrow, type TrainingRow } from '../../../src/index.js';
import { Random } from '../../../src/system/index.js';
import { measuredTexts, rowsOf } from './archives.js';
import { DATA_FILE, factsFile, type TrainingData } from './model-facts.js';
import type { Recipe, UnlabelledSource } from './recipe.js';
import { recordedTeacher } from './recorded-answers.js';
import { modelType, modelWork, type TrainOptions, taughtFolder, trainedFolder, trainModel } from './train.js';

/**
 * A model that learns from a larger one, too: a large encoder is fine-tuned on the model's own rows and answers texts that
 * have no labels (the task stage of TinyBERT, Jiao et al. 2020). The model is trained on its rows and these answers.
 */

export interface TeachOptions extends TrainOptions {
  /** Folder of the encoder that becomes the teacher, or a file of answers (models/recipes/teachers). */
  readonly teacher: string | { readonly answers: string };
}

/**
 * Trains the teacher, or takes the one that an earlier call trained, and then the model. Answers of the teacher that an
 * earlier call has are kept. @throws Error if the recipe has no texts for it, the answers are to others, or the training fails
 */
export async function teach(recipe: Recipe, options: TeachOptions): Promise<void> {
  const { backbone, work, seed, threads, device, log = console.log } = options;
  const { title, rows, sources, mixedLabels, ...teacher } = await teacherFor(recipe, options);
  const texts = sources.flatMap((source) => source.texts);
  log(`${recipe.name}: its teacher answers ${texts.length} texts`);
  const { num_epochs: epochs, data_augmentation: augment } = { ...recipe.training, ...recipe.taughtTraining };
  await using model = await orThrow(
    distill({
      ...teacher,
      texts,
      rows: rows.train,
      ...(rows.dev && { dev: rows.dev }),
      output: taughtFolder(work, recipe),
      name: recipe.job,
      type: modelType(recipe),
      ...(recipe.family === 'Papaya' && { labels: recipe.labels }),
      ...(backbone === undefined ? { pretrained: false } : { base: resolve(backbone) }),
      lowercase: recipe.training?.preprocessing?.lowercase,
      ...{ language: recipe.language, epochs, augment, seed, threads, device },
      tuning: { quantize: true, ...recipe.tuning },
      onProgress(event) {
        if (event.type === 'epoch') log(`  epoch ${event.stats.epoch}`);
      },
    }),
  );
  const described = [
    ...recipe.sources.map((source, at) => ({ ...facts(source), ...(rows.counts[at] ?? NO_ROWS) })),
    ...sources.map(({ source, texts: { length: train }, leaks }) => ({
      ...{ ...facts(source), teacher: title, train, dev: 0, leaks },
    })),
  ];
  const data: TrainingData = {
    sources: described,
    ...learnedBy(model, rows),
    ...(mixedLabels && { mixedLabels }),
  };
  await writeFile(join(modelWork(work, recipe), DATA_FILE), factsFile(data));
}

/** Rows and texts of a recipe that its teacher learns from and answers. @throws Error if it has no texts */
export async function givenTo(recipe: Recipe, { datasets, seed }: Pick<TrainOptions, 'datasets' | 'seed'>) {
  const { unlabelled = [] } = recipe;
  if (unlabelled.length === 0) throw new Error(`${recipe.name} has no texts for a teacher`);
  const measured = await measuredTexts(recipe, datasets);
  const sources = await Promise.all(
    unlabelled.map(async (source) => {
      const drawn = await textsOf(source, { datasets, seed });
      const texts = drawn.filter((text) => !measured.has(text));
      return { source, texts, leaks: drawn.length - texts.length };
    }),
  );
  return { rows: await rowsOf(recipe, datasets), sources, texts: sources.flatMap(({ texts }) => texts) };
}

/** The teacher, with rows and texts as the model learns them. */
async function teacherFor(recipe: Recipe, { teacher, ...options }: TeachOptions) {
  const { rows, sources, texts } = await givenTo(recipe, options);
  if (typeof teacher !== 'string') {
    const recorded = await recordedTeacher(recipe, teacher.answers, { rows, texts, seed: options.seed });
    const learned = sources.map((each) => ({ ...each, texts: each.texts.filter((text) => recorded.texts.has(text)) }));
    return {
      ...{ teacher: recorded.ask, teacherName: recorded.name, title: recorded.title },
      ...{ rows: recorded.rows, sources: learned, mixedLabels: recorded.mixedLabels },
    };
  }
  const work = join(modelWork(options.work, recipe), 'teacher');
  const training = { ...recipe.training, ...recipe.teacherTraining };
  await trainModel({ ...withoutTeacher(recipe), training }, { ...options, work, backbone: teacher });
  const folder = await trainedFolder(withoutTeacher(recipe), work);
  return { teacher: folder, title: basename(resolve(teacher)), rows, sources, mixedLabels: undefined };
}

const NO_ROWS = { train: 0, dev: 0, leaks: 0 };

const facts = ({ title, licence, remark }: Omit<UnlabelledSource, 'read' | 'most'>) => ({
  ...{ title, licence },
  ...(remark !== undefined && { remark }),
});

/** A random choice of a source's texts, each once. */
async function textsOf(
  { read, most }: UnlabelledSource,
  { datasets, seed }: { readonly datasets: string; readonly seed: number },
): Promise<string[]> {
  return Random.fromSeed(seed)
    .shuffle([...new Set(await read(datasets))])
    .slice(0, most);
}

/** `train` uses each distinct row once. Edited copies of rows are not counted. */
function learnedBy(
  { training: { dev }, distillation: { learned } }: DistilledModel,
  { train, dev: given }: { readonly train: readonly TrainingRow[]; readonly dev?: readonly TrainingRow[] | undefined },
) {
  const duplicates = train.length - new Set(train.map((row) => JSON.stringify(row))).size;
  return { train: learned.texts + learned.rows - (given ? 0 : dev) - duplicates, dev, duplicates };
}

/** The recipe with only the texts that this model learned from: it may have been taught less, or not at all. */
export function asTrained(recipe: Recipe, { sources }: TrainingData): Recipe {
  const titles = new Set(sources.flatMap(({ title, teacher }) => (teacher === undefined ? [] : [title])));
  const learned = recipe.unlabelled?.filter(({ title }) => titles.has(title)) ?? [];
  return { ...recipe, unlabelled: learned.length > 0 ? learned : undefined };
}

/** The recipe without the texts that a teacher answers. */
export function withoutTeacher<Of extends Recipe>(recipe: Of): Of {
  return { ...recipe, unlabelled: undefined };
}
