/** Reads questions with their passages from memory, or from a CSV, TSV or JSON Lines file. */
import { basename } from 'node:path';
import { type ProblemList, quoted } from '../../datasets/index.js';
import { type RecordFile, readRecords } from '../source-records.js';
import type { QuestionColumns, WrittenQuestion } from './check-question.js';

/** A question and the passage that answers it. */
export interface QuestionRow {
  readonly question: string;
  /** The passage that answers it. */
  readonly context: string;
}

/** A UTF-8 file of questions and passages. */
export interface QuestionFile extends RecordFile {
  /** Default "question". */
  readonly questionColumn?: string | undefined;
  /** The column of the passages. Default "context". */
  readonly contextColumn?: string | undefined;
}

/** Where questions come from. */
export type QuestionSource = QuestionFile | Iterable<QuestionRow>;

/** The questions of a source, and what its columns are called. */
export interface QuestionTable {
  /** The source's name in problems. */
  readonly file: string;
  readonly columns: QuestionColumns;
  readonly questions: readonly WrittenQuestion[];
}

/**
 * Reads all questions of a source; a record without two strings becomes a problem. Lines count from 1, and so
 * do rows in memory.
 * @param name of rows in memory, in problems.
 */
export async function readSource(
  source: QuestionSource,
  name: string,
  problems: ProblemList,
): Promise<QuestionTable> {
  if (Symbol.iterator in source) {
    const questions = Array.from(source, ({ question, context }, index) => {
      return { file: name, line: index + 1, question, context };
    });
    return { file: name, columns: { question: 'question', context: 'context' }, questions };
  }
  const { questionColumn: question = 'question', contextColumn: context = 'context' } = source;
  const columns = { question, context };
  return {
    file: basename(source.path),
    columns,
    questions: await questionsOfFile(source, columns, problems),
  };
}

async function questionsOfFile(
  source: QuestionFile,
  columns: QuestionColumns,
  problems: ProblemList,
): Promise<WrittenQuestion[]> {
  const file = basename(source.path);
  const records = await readRecords(source, [columns.question, columns.context], problems);
  return records.flatMap(({ line, values: [question, context] }) => {
    if (typeof question === 'string' && typeof context === 'string') {
      return [{ file, line, question, context }];
    }
    const [column, value] =
      typeof question === 'string' ? [columns.context, context] : [columns.question, question];
    problems.add({ file, line, column, found: `found ${quoted(value)}`, expected: 'a string' });
    return [];
  });
}
