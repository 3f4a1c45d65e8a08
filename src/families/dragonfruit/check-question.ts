/** The rules on a question, the same for an archive that is read and for one that is written. */
import { type DatasetLocation, type ProblemList, quoted } from '../../datasets/index.js';
import { findTextProblem } from '../dataset-text.js';
import type { LocatedQuestion } from './retrieval-dataset.js';

/** A question and its passage as their source has them. */
export interface WrittenQuestion extends DatasetLocation {
  readonly question: string;
  readonly context: string;
}

/** What the two fields of a question are called in problems. */
export interface QuestionColumns {
  readonly question: string;
  readonly context: string;
}

/** The ids of passages, by their texts. */
export type PassageIds = ReadonlyMap<string, number>;

export function passageIdsOf(passages: readonly string[]): PassageIds {
  return new Map(passages.map((passage, id) => [passage, id]));
}

/**
 * @param passageIds undefined if the passages couldn't be read; then no context is looked up.
 * @returns the question with its passage's id, or undefined, after adding a problem unless `passageIds` is
 * undefined.
 */
export function checkQuestion(
  written: WrittenQuestion,
  columns: QuestionColumns,
  passageIds: PassageIds | undefined,
  problems: ProblemList,
): LocatedQuestion | undefined {
  const { file, line, question, context } = written;
  const before = problems.total;
  for (const field of ['question', 'context'] as const) {
    const problem = findTextProblem(written[field]);
    if (problem) problems.add({ file, line, column: columns[field], ...problem });
  }
  if (problems.total > before || passageIds === undefined) return undefined;
  const passage = passageIds.get(context);
  if (passage !== undefined) return { question, passage, file, line };
  const found = `found ${quoted(context)}, which is not a passage of label_id.json`;
  problems.add({
    file,
    line,
    column: columns.context,
    found,
    expected: 'one of its passages, letter for letter',
  });
  return undefined;
}
