import { writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { type DistilledModel, distill, orThrow, type TrainingRow } from '../../../src/index.js';
import { Random } from '../../../src/system/index.js';
import { measuredTexts, rowsOf } from './archives.js';
import type { MeasuredTexts, TrainingRows } from './leaks.js';
import { DATA_FILE, factsFile, type TrainingData } from './model-facts.js';
import type { Recipe, UnlabelledSource } from './recipe.js';
import { teacherElsewhere } from './teacher-elsewhere.js';
import { modelType, modelWork, type TrainOptions, taughtFolder, trainedFolder, trainModel } from './train.js';

/**
 * A model that learns from a larger one, too: a large encoder is fine-tuned on the model's own rows and answers texts that
 * have no labels (the task stage of TinyBERT, Jiao et al. 2020). The model is trained on its rows and these answers.
 */

export interface TeachOptions extends TrainOptions {
  /** Folder of the encoder that becomes the teacher, or file of the answers of a teacher elsewhere. */
  readonly teacher: string | { readonly answers: string };
}

/**
 * Trains the teacher, or takes the one that an earlier call trained, and then the model. Answers of the teacher that an
 * earlier call has are kept. @throws Error if the recipe has no texts for it, or the training fails
 */
export async function teach(recipe: Recipe, options: TeachOptions): Promise<void> {
  if (recipe.unlabelled === undefined) throw new Error(`${recipe.name} has no texts for a teacher`);
  const { backbone, work, datasets, seed, threads, log = console.log } = options;
  const given = await rowsOf(recipe, datasets);
  const measured = await measuredTexts(recipe, datasets);
  const sources = await unlabelledTexts(recipe, { datasets, seed, measured });
  const texts = sources.flatMap((source) => source.texts);
  const { teacher, teacherName, title, rows, areMixed } = await teacherFor(recipe, options, { rows: given, texts });
  log(`${recipe.name}: its teacher answers ${texts.length} texts`);
  const { num_epochs: epochs, data_augmentation: augment } = { ...recipe.training, ...recipe.taughtTraining };
  await using model = await orThrow(
    distill({
      teacher,
      ...(teacherName !== undefined && { teacherName }),
      texts,
      rows: rows.train,
      ...(rows.dev && { dev: rows.dev }),
      output: taughtFolder(work, recipe),
      name: recipe.job,
      type: modelType(recipe),
      ...(backbone === undefined ? { pretrained: false } : { base: resolve(backbone) }),
      lowercase: recipe.training?.preprocessing?.lowercase,
      ...{ language: recipe.language, epochs, augment, seed, threads },
      tuning: { quantize: true, ...recipe.tuning },
      onProgress(event) {
        if (event.type === 'epoch') log(`  epoch ${event.stats.epoch}`);
      },
    }),
  );
  const described = [
    ...recipe.sources.map((source, at) => ({ ...facts(source), ...(rows.counts[at] ?? NO_ROWS) })),
    ...sources.map(({ source, counts }) => ({ ...facts(source), teacher: title, ...counts })),
  ];
  const data: TrainingData = { sources: described, ...learnedBy(model, rows), ...(areMixed && { areMixed }) };
  await writeFile(join(modelWork(work, recipe), DATA_FILE), factsFile(data));
}

interface GivenTexts {
  readonly rows: TrainingRows<TrainingRow>;
  readonly texts: readonly string[];
}

/** The teacher, and the rows with what it adds to them. */
async function teacherFor(recipe: Recipe, { teacher, ...options }: TeachOptions, { rows, texts }: GivenTexts) {
  if (typeof teacher !== 'string')
    return teacherElsewhere(recipe, teacher.answers, { rows, texts, seed: options.seed });
  const work = join(modelWork(options.work, recipe), 'teacher');
  const training = { ...recipe.training, ...recipe.teacherTraining };
  await trainModel({ ...withoutTeacher(recipe), training }, { ...options, work, backbone: teacher });
  const folder = await trainedFolder(withoutTeacher(recipe), work);
  return { teacher: folder, teacherName: undefined, title: basename(resolve(teacher)), rows, areMixed: undefined };
}

const NO_ROWS = { train: 0, dev: 0, leaks: 0 };

const facts = ({ title, licence, remark }: Omit<UnlabelledSource, 'read' | 'most'>) => ({
  ...{ title, licence },
  ...(remark !== undefined && { remark }),
});

/** The texts of each source, without those that the model is measured on. */
export function unlabelledTexts(
  { unlabelled = [] }: Recipe,
  { measured, ...options }: { readonly datasets: string; readonly seed: number; readonly measured: MeasuredTexts },
) {
  return Promise.all(
    unlabelled.map(async (source) => {
      const given = await textsOf(source, options);
      const texts = given.filter((text) => !measured.has(text));
      return { source, texts, counts: { train: texts.length, dev: 0, leaks: given.length - texts.length } };
    }),
  );
}

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

/** The recipe with only the texts that this model learned from: a model may have been trained without a teacher. */
export function asTrained(recipe: Recipe, { sources }: TrainingData): Recipe {
  const titles = new Set(sources.map(({ title }) => title));
  const isTaught = recipe.unlabelled?.every(({ title }) => titles.has(title)) ?? false;
  return isTaught ? recipe : withoutTeacher(recipe);
}

/** The recipe without the texts that a teacher answers. */
export function withoutTeacher<Of extends Recipe>(recipe: Of): Of {
  return { ...recipe, unlabelled: undefined };
}
