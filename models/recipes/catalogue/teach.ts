import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { z } from 'zod';
import { loadModel } from '../../../src/api/index.js';
import { Random } from '../../../src/system/index.js';
import { drawnLabels } from './drawn-labels.js';
import type { TrainingData } from './model-facts.js';
import type { ClassifierRecipe, LabelledText, Recipe, Source, UnlabelledSource } from './recipe.js';
import { modelWork, type TrainOptions, trainedFolder, trainModel } from './train.js';

/**
 * Labels for texts that have none: a large encoder learns the task from the model's own rows, and then labels texts of
 * the domain (the task stage of TinyBERT, Jiao et al. 2020). A text's label is drawn from the teacher's probabilities, so
 * that over many texts a student learns how sure the teacher is, and not its likeliest labels alone.
 */

const TAUGHT_FILE = 'taught.json';

const taughtSchema = z.strictObject({
  /** Name of the encoder that was the teacher. */
  teacher: z.string(),
  /** Of each of the recipe's unlabelled sources, in their order. */
  sources: z.array(z.strictObject({ title: z.string(), rows: z.array(taughtRow()) })),
});
type Taught = z.infer<typeof taughtSchema>;

function taughtRow() {
  return z.strictObject({ text: z.string(), labels: z.array(z.string()).readonly() });
}

export interface TeachOptions extends Omit<TrainOptions, 'backbone'> {
  /** Folder of the encoder that becomes the teacher. */
  readonly teacher: string;
}

/**
 * Trains the teacher, or takes the one that an earlier call trained, and writes the texts that it labelled.
 * @throws Error if the recipe has no unlabelled texts, or the training fails
 */
export async function teach(recipe: Recipe, options: TeachOptions): Promise<void> {
  if (recipe.family !== 'Papaya' || recipe.unlabelled === undefined) {
    throw new Error(`${recipe.name} has no unlabelled texts`);
  }
  const { teacher, work, datasets, seed, log = console.log } = options;
  const teacherWork = join(modelWork(work, recipe), 'teacher');
  const training = { ...recipe.training, ...recipe.teacherTraining };
  await trainModel({ ...recipe, training }, { ...options, work: teacherWork, backbone: teacher });
  const directory = await trainedFolder(recipe, teacherWork);
  const sources: Taught['sources'] = [];
  for (const source of recipe.unlabelled) {
    const texts = Random.fromSeed(seed).shuffle([...new Set(await source.read(datasets))]);
    const rows = await labelledBy(directory, texts.slice(0, source.most), { recipe, seed });
    log(`${recipe.name}: ${rows.length} texts of ${source.title} have labels`);
    sources.push({ title: source.title, rows });
  }
  const taught: Taught = { teacher: basename(resolve(teacher)), sources };
  await writeFile(join(modelWork(work, recipe), TAUGHT_FILE), JSON.stringify(taught));
}

async function labelledBy(
  directory: string,
  texts: readonly string[],
  { recipe, seed }: { readonly recipe: ClassifierRecipe; readonly seed: number },
): Promise<LabelledText[]> {
  // A worker thread would need a built file; these commands run the sources.
  const loaded = await loadModel(directory, { isolation: 'inline' });
  if (loaded.isErr()) throw loaded.error;
  await using model = loaded.value;
  const random = Random.fromSeed(seed);
  const rows: LabelledText[] = [];
  let at = 0;
  for await (const answer of model.predict(texts.values())) {
    if (answer.isErr()) throw answer.error;
    if (answer.value.kind !== 'labels') throw new Error(`${recipe.name} answers with ${answer.value.kind}`);
    rows.push({ text: texts[at] ?? '', labels: drawnLabels(recipe.type, answer.value.scores, random) });
    at += 1;
  }
  return rows;
}

/**
 * The recipe with the texts that {@link teach} has labelled below `work` among its sources.
 * @throws Error if its texts have no labels there
 */
export function withTaughtTexts(recipe: Recipe, work: string): Recipe {
  if (recipe.family !== 'Papaya' || recipe.unlabelled === undefined) return recipe;
  const { unlabelled, teacherTraining, taughtTraining, ...rest } = recipe;
  const path = join(modelWork(work, recipe), TAUGHT_FILE);
  if (!existsSync(path)) {
    throw new Error(`${recipe.name}: its texts have no labels yet; run teach first, or add --untaught`);
  }
  const taught = taughtSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  return {
    ...rest,
    training: { ...recipe.training, ...taughtTraining },
    sources: [...recipe.sources, ...unlabelled.map((source) => taughtSource(recipe, source, taught))],
  };
}

/** The recipe with only the texts that this model learned from: a model may have been trained `--untaught`. */
export function asTrained(recipe: Recipe, { sources }: TrainingData): Recipe {
  if (recipe.family !== 'Papaya') return recipe;
  const titles = new Set(sources.map(({ title }) => title));
  const isTaught = recipe.unlabelled?.every(({ title }) => titles.has(title)) ?? false;
  return isTaught ? recipe : withoutTaughtTexts(recipe);
}

/** The recipe without the texts that a teacher labels. */
export function withoutTaughtTexts(recipe: Recipe): Recipe {
  if (recipe.family !== 'Papaya') return recipe;
  const { unlabelled: _, ...rest } = recipe;
  return rest;
}

function taughtSource(
  { name }: Pick<Recipe, 'name'>,
  { read: _, most: __, ...source }: UnlabelledSource,
  { teacher, sources }: Taught,
): Source<LabelledText> {
  const rows = sources.find(({ title }) => title === source.title)?.rows;
  if (rows === undefined) throw new Error(`${name}: ${source.title} has no labels yet; run teach again`);
  return { ...source, teacher, read: () => ({ train: rows }) };
}
