/**
 * What is checked once all questions are known: that there is something to rank, and what is worth a warning.
 */
import {
  counted,
  type DatasetWarning,
  LABEL_FILE,
  type ProblemList,
  warnAbout,
} from '../../datasets/index.js';
import { pacedFilter, pacedMap } from '../../pauses.js';
import { foldText } from '../dataset-text.js';
import type { LocatedQuestion } from './retrieval-dataset.js';

/** Adds a problem if there are fewer than two passages, which leaves nothing to rank. */
export function checkRankable(passages: readonly string[], file: string, problems: ProblemList): void {
  if (passages.length >= 2) return;
  const found = `found ${counted(passages.length, 'passage')}`;
  problems.add({ file, found, expected: 'at least two passages to choose from' });
}

/** Warnings about a dataset; questions are compared after folding case and whitespace. */
export async function findWarnings(
  passages: readonly string[],
  train: readonly LocatedQuestion[],
  dev: readonly LocatedQuestion[],
  signal?: AbortSignal,
): Promise<readonly DatasetWarning[]> {
  return [
    ...(await repetitionWarnings(train, signal)),
    ...(await leakWarnings(train, dev, signal)),
    ...unaskedWarnings(passages, [...train, ...dev]),
  ];
}

async function repetitionWarnings(
  train: readonly LocatedQuestion[],
  signal: AbortSignal | undefined,
): Promise<readonly DatasetWarning[]> {
  const seen = new Set<string>();
  const isRepeated = ({ question, passage }: LocatedQuestion) => {
    const key = `${passage} ${foldText(question)}`;
    const isKnown = seen.has(key);
    seen.add(key);
    return isKnown;
  };
  const repeated = await pacedFilter(train, isRepeated, signal);
  const message = `${counted(repeated.length, 'question')} of train repeated, case and spacing aside`;
  return warnAbout('duplicate_row', repeated, message);
}

async function leakWarnings(
  train: readonly LocatedQuestion[],
  dev: readonly LocatedQuestion[],
  signal: AbortSignal | undefined,
): Promise<readonly DatasetWarning[]> {
  const devQuestions = new Set(await pacedMap(dev, ({ question }) => foldText(question), signal));
  const shared = await pacedFilter(train, ({ question }) => devQuestions.has(foldText(question)), signal);
  const questions = counted(shared.length, 'question');
  const message = `${questions} of train also in dev, so the figures measured on dev are too good`;
  return warnAbout('train_row_in_dev', shared, message);
}

function unaskedWarnings(
  passages: readonly string[],
  questions: readonly LocatedQuestion[],
): readonly DatasetWarning[] {
  const count = passages.length - new Set(questions.map(({ passage }) => passage)).size;
  if (count === 0) return [];
  const message = `${counted(count, 'passage')} of ${LABEL_FILE} without a question; they are searched like the others`;
  return [{ kind: 'passage_without_question', count, message, examples: [] }];
}
