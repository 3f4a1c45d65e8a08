import { createClassificationArchive, createRetrievalArchive, createSequenceArchive } from '../../../src/index.js';
import { MeasuredTexts, readTrainingRows, type SourceCounts } from './leaks.js';
import type { TrainingData } from './model-facts.js';
import type { ClassifierRecipe, LabelledText, Recipe, SearchRecipe, Source, TaggerRecipe } from './recipe.js';

/**
 * Writes the archive that a model is trained on with the library's own writers, and describes it for the
 * card.
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
  const measured = new MeasuredTexts(await measuredTexts(recipe, datasets));
  const { train, dev, counts } = await readTrainingRows(sources, ({ text }) => text, measured, datasets);
  const toRow = (row: LabelledText) =>
    type === 'multilabel-text-classification'
      ? { text: row.text, labels: row.labels }
      : { text: row.text, label: row.labels[0] ?? '' };
  const rows = train.map(toRow);
  const devRows = dev?.map(toRow);
  const written = await createClassificationArchive({ type, name, labels, rows, devRows, seed }, path);
  if (written.isErr()) throw written.error;
  return trainingData(sources, counts, written.value);
}

/** Of its tests, and of whatever else it is measured on. */
async function measuredTexts(
  { tests, elsewhere = [], kinds = [] }: ClassifierRecipe,
  datasets: string,
): Promise<string[]> {
  const rows = await Promise.all([...tests, ...elsewhere].map((test) => test.read(datasets)));
  return [...rows.flat().map(({ text }) => text), ...kinds.flatMap(({ texts }) => texts)];
}

async function writeTaggerArchive(
  { job: name, sources, tests }: TaggerRecipe,
  { datasets, path, seed }: ArchiveTarget,
): Promise<TrainingData> {
  const sentences = await Promise.all(tests.map((test) => test.read(datasets)));
  const measured = new MeasuredTexts(sentences.flat().map(({ words }) => words.join(' ')));
  const rows = await readTrainingRows(sources, ({ words }) => words.join(' '), measured, datasets);
  const written = await createSequenceArchive({ name, rows: rows.train, devRows: rows.dev, seed }, path);
  if (written.isErr()) throw written.error;
  return trainingData(sources, rows.counts, written.value);
}

async function writeSearchArchive(
  { job: name, sources, tests }: SearchRecipe,
  { datasets, path, seed }: ArchiveTarget,
): Promise<TrainingData> {
  const searches = await Promise.all(tests.map((test) => test.read(datasets)));
  const measured = new MeasuredTexts(searches.flatMap((test) => test.questions.map(({ question }) => question)));
  const rows = await readTrainingRows(sources, ({ question }) => question, measured, datasets);
  const written = await createRetrievalArchive({ name, rows: rows.train, devRows: rows.dev, seed }, path);
  if (written.isErr()) throw written.error;
  return trainingData(sources, rows.counts, written.value);
}

/** @param summary of the archive's writer: rows after duplicates were left out and dev was set aside. */
function trainingData(
  sources: readonly Pick<Source<unknown>, 'title' | 'licence' | 'remark' | 'teacher'>[],
  counts: readonly SourceCounts[],
  summary: { readonly train: number; readonly dev: number; readonly removedDuplicates: number },
): TrainingData {
  return {
    sources: sources.map(({ title, licence, remark, teacher }, at) => ({
      title,
      licence,
      ...(remark !== undefined && { remark }),
      ...(teacher !== undefined && { teacher }),
      ...(counts[at] ?? { train: 0, dev: 0, leaks: 0 }),
    })),
    train: summary.train,
    dev: summary.dev,
    duplicates: summary.removedDuplicates,
  };
}
