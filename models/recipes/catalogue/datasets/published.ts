import { type LabelledTexts, readers } from '../../../../bench/datasets/labelled-texts.js';
import { type Questions, questionReaders } from '../../../../bench/datasets/questions.js';
import { type TaggedSentences, taggedReaders } from '../../../../bench/datasets/tagged-sentences.js';
import type { LabelledText, SearchTest, Split } from '../recipe.js';

/** Datasets that the benchmarks read, too, as sources and tests of the catalogue. */

function read<Dataset>(
  from: Readonly<Record<string, (datasets: string) => Dataset>>,
  name: string,
  datasets: string,
): Dataset {
  const reader = from[name];
  if (reader === undefined) throw new Error(`no dataset ${name}: there are ${Object.keys(from).join(', ')}`);
  return reader(datasets);
}

export const labelled = (name: string, datasets: string): LabelledTexts => read(readers, name, datasets);
export const tagged = (name: string, datasets: string): TaggedSentences => read(taggedReaders, name, datasets);
export const questions = (name: string, datasets: string): Questions => read(questionReaders, name, datasets);

/** Train and dev as the publisher split them. */
export function publishedSplit(name: string): (datasets: string) => Split<LabelledText> {
  return (datasets) => labelled(name, datasets);
}

/** All rows that aren't for test. If the publisher has no dev rows, the archive's writer sets some aside. */
export function publishedTraining(name: string): (datasets: string) => Split<LabelledText> {
  return (datasets) => {
    const { train, dev } = labelled(name, datasets);
    return { train: [...train, ...dev] };
  };
}

export const publishedTest = (name: string) => (datasets: string) => labelled(name, datasets).test;

export function searchTest(name: string): (datasets: string) => SearchTest {
  return (datasets) => {
    const { passages, test } = questions(name, datasets);
    return { passages, questions: test };
  };
}
