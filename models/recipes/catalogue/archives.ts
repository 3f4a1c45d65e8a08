import type { QuestionPair } from '../../../bench/datasets/questions.js';
import type { TaggedSentence } from '../../../bench/datasets/tagged-sentences.js';
import {
  createClassificationArchive,
  createRetrievalArchive,
  createSequenceArchive,
  type LabelledRow,
  type MultilabelRow,
  type TrainingRow,
} from '../../../src/index.js';
import { MeasuredTexts, readTrainingRows, type SourceCounts, type TrainingRows } from './leaks.js';
import type { TrainingData } from './model-facts.js';
import type { ClassifierRecipe, LabelledText, Recipe, SearchRecipe, Source, TaggerRecipe } from './recipe.js';

/**
 * Reads the rows that a model is trained on, writes them into an archive with the library's own writers, and describes
 * the archive for the card.
 */

export interface ArchiveTarget {
  /** The folder that holds every dataset. */
  readonly datasets: string;
  /** Path of the zip. */
  readonly path: string;
  /** Decides which rows are set aside for dev if no source has any. */
  readonly seed: number;
}

/** @throws DatasetError for rows that can't be trained on; errors of the readers unchanged. */
export function writeArchive(recipe: Recipe, target: ArchiveTarget): Promise<TrainingData> {
  switch (recipe.family) {
    case 'Papaya':
      return writeClassifierArchive(recipe, target);
    case 'Grapefruit':
      return writeTaggerArchive(recipe, target);
    case 'Dragonfruit':
      return writeSearchArchive(recipe, target);
  }
}

async function writeClassifierArchive(
  recipe: ClassifierRecipe,
  { datasets, path, seed }: ArchiveTarget,
): Promise<TrainingData> {
  const { job: name, type, labels, sources } = recipe;
  const { train: rows, dev: devRows, counts } = await classifierRows(recipe, datasets);
  const written = await createClassificationArchive({ type, name, labels, rows, devRows, seed }, path);
  if (written.isErr()) throw written.error;
  return trainingData(sources, counts, written.value);
}

async function writeTaggerArchive(
  recipe: TaggerRecipe,
  { datasets, path, seed }: ArchiveTarget,
): Promise<TrainingData> {
  const { train: rows, dev: devRows, counts } = await taggerRows(recipe, datasets);
  const written = await createSequenceArchive({ name: recipe.job, rows, devRows, seed }, path);
  if (written.isErr()) throw written.error;
  return trainingData(recipe.sources, counts, written.value);
}

async function writeSearchArchive(
  recipe: SearchRecipe,
  { datasets, path, seed }: ArchiveTarget,
): Promise<TrainingData> {
  const { train: rows, dev: devRows, counts } = await searchRows(recipe, datasets);
  const written = await createRetrievalArchive({ name: recipe.job, rows, devRows, seed }, path);
  if (written.isErr()) throw written.error;
  return trainingData(recipe.sources, counts, written.value);
}

/** The rows of a recipe, without those that its model is measured on. */
export async function rowsOf(recipe: Recipe, datasets: string): Promise<TrainingRows<TrainingRow>> {
  switch (recipe.family) {
    case 'Papaya':
      return classifierRows(recipe, datasets);
    case 'Grapefruit': {
      const { train, dev, counts } = await taggerRows(recipe, datasets);
      const toRow = ({ words: tokens, tags }: TaggedSentence) => ({ tokens, tags });
      return { train: train.map(toRow), dev: dev?.map(toRow), counts };
    }
    case 'Dragonfruit': {
      const { train, dev, counts } = await searchRows(recipe, datasets);
      const toRow = ({ question, context: passage }: QuestionPair) => ({ question, passage });
      return { train: train.map(toRow), dev: dev?.map(toRow), counts };
    }
  }
}

async function classifierRows(recipe: ClassifierRecipe, datasets: string) {
  const measured = await measuredTexts(recipe, datasets);
  const { train, dev, counts } = await readTrainingRows(recipe.sources, ({ text }) => text, measured, datasets);
  const toRow = ({ text, labels, weight }: LabelledText): LabelledRow | MultilabelRow => ({
    ...(recipe.type === 'multilabel-text-classification' ? { text, labels } : { text, label: labels[0] ?? '' }),
    ...(weight !== undefined && { weight }),
  });
  return { train: train.map(toRow), dev: dev?.map(toRow), counts };
}

async function taggerRows(recipe: TaggerRecipe, datasets: string) {
  const measured = await measuredTexts(recipe, datasets);
  return readTrainingRows(recipe.sources, ({ words }) => words.join(' '), measured, datasets);
}

async function searchRows(recipe: SearchRecipe, datasets: string) {
  const measured = await measuredTexts(recipe, datasets);
  return readTrainingRows(recipe.sources, ({ question }) => question, measured, datasets);
}

/** The texts that a model is measured on: those of its tests and, for classifiers, everything else. */
export async function measuredTexts(recipe: Recipe, datasets: string): Promise<MeasuredTexts> {
  switch (recipe.family) {
    case 'Papaya': {
      const { tests, elsewhere = [], kinds = [] } = recipe;
      const rows = await Promise.all([...tests, ...elsewhere].map((test) => test.read(datasets)));
      return new MeasuredTexts([...rows.flat().map(({ text }) => text), ...kinds.flatMap(({ texts }) => texts)]);
    }
    case 'Grapefruit': {
      const sentences = await Promise.all(recipe.tests.map((test) => test.read(datasets)));
      return new MeasuredTexts(sentences.flat().map(({ words }) => words.join(' ')));
    }
    case 'Dragonfruit': {
      const searches = await Promise.all(recipe.tests.map((test) => test.read(datasets)));
      return new MeasuredTexts(searches.flatMap((test) => test.questions.map(({ question }) => question)));
    }
  }
}

/** @param summary of the archive's writer: rows after duplicates were left out and dev was set aside. */
function trainingData(
  sources: readonly Pick<Source<unknown>, 'title' | 'licence' | 'remark'>[],
  counts: readonly SourceCounts[],
  summary: { readonly train: number; readonly dev: number; readonly removedDuplicates: number },
): TrainingData {
  return {
    sources: sources.map(({ title, licence, remark }, at) => ({
      title,
      licence,
      ...(remark !== undefined && { remark }),
      ...(counts[at] ?? { train: 0, dev: 0, leaks: 0 }),
    })),
    train: summary.train,
    dev: summary.dev,
    duplicates: summary.removedDuplicates,
  };
}
