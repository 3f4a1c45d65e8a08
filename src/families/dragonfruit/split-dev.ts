import { Random } from '../../random.js';
import { foldText } from '../fold-text.js';
import type { LocatedQuestion } from './retrieval-dataset.js';

/** The questions of a dataset, divided; each half keeps the order of the source. */
export interface QuestionSplits {
  readonly train: readonly LocatedQuestion[];
  readonly dev: readonly LocatedQuestion[];
}

/**
 * Sets questions aside for dev, the same ones for the same seed: their share, rounded, at least one and never all.
 * Questions that differ in case or spacing only stay together, so that dev asks nothing that train has answered.
 * @param devFraction share of the questions, above 0 and below 1.
 */
export function splitDev(
  questions: readonly LocatedQuestion[],
  devFraction: number,
  seed: number,
): QuestionSplits {
  const different = [...new Set(questions.map(({ question }) => foldText(question)))];
  const wanted = Math.max(1, Math.round(different.length * devFraction));
  const shuffled = Random.fromSeed(seed).shuffle(different);
  const devQuestions = new Set(shuffled.slice(0, Math.min(wanted, different.length - 1)));
  const isDev = ({ question }: LocatedQuestion) => devQuestions.has(foldText(question));
  return { train: questions.filter((each) => !isDev(each)), dev: questions.filter(isDev) };
}
