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
import { foldText } from '../dataset-text.js';
import type { LocatedQuestion } from './retrieval-dataset.js';

/** Adds a problem if there are fewer than two passages, which leaves nothing to rank. */
export function checkRankable(passages: readonly string[], file: string, problems: ProblemList): void {
  if (passages.length >= 2) return;
  const found = `found ${counted(passages.length, 'passage')}`;
  problems.add({ file, found, expected: 'at least two passages to choose from' });
}

/** Warnings about a dataset; questions are compared after folding case and whitespace. */
export function findWarnings(
  passages: readonly string[],
  train: readonly LocatedQuestion[],
  dev: readonly LocatedQuestion[],
): readonly DatasetWarning[] {
  return [
    ...repetitionWarnings(train),
    ...leakWarnings(train, dev),
    ...unaskedWarnings(passages, [...train, ...dev]),
  ];
}

function repetitionWarnings(train: readonly LocatedQuestion[]): readonly DatasetWarning[] {
  const seen = new Set<string>();
  const repeated = train.filter(({ question, passage }) => {
    const key = `${passage} ${foldText(question)}`;
    const isRepeated = seen.has(key);
    seen.add(key);
    return isRepeated;
  });
  const message = `${counted(repeated.length, 'question')} of train repeated, case and spacing aside`;
  return warnAbout('duplicate_row', repeated, message);
}

function leakWarnings(
  train: readonly LocatedQuestion[],
  dev: readonly LocatedQuestion[],
): readonly DatasetWarning[] {
  const devQuestions = new Set(dev.map(({ question }) => foldText(question)));
  const shared = train.filter(({ question }) => devQuestions.has(foldText(question)));
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
