import { basename } from 'node:path';
import { ProblemList, quoted, readTable, someOf } from '../../datasets/index.js';
import { type CheckedRows, invalid } from '../rows/index.js';
import type { CrossValidateSettings } from './cross-validate-options.js';

/** The group of each row; undefined where none are given. @throws ValidationError, DatasetError */
export async function readGroups(
  { groups, groupColumn, training }: CrossValidateSettings,
  { rows }: CheckedRows,
): Promise<readonly string[] | undefined> {
  const { source } = training;
  const read =
    groupColumn !== undefined && source.kind === 'path'
      ? await groupsInFile(source.path, groupColumn)
      : typeof groups === 'function'
        ? rows.map((row, at) => String(groups(row, at)))
        : groups;
  if (read === undefined || read.length === rows.length) return read;
  const option = groupColumn === undefined ? 'groups' : 'groupColumn';
  throw invalid([option], `there are ${read.length} groups for ${rows.length} rows; give one for each`);
}

async function groupsInFile(path: string, column: string): Promise<string[]> {
  const problems = new ProblemList();
  const { columns, select } = await readTable({ path }, problems);
  if (!columns.includes(column)) {
    const listed = someOf(columns.map((name) => quoted(name)));
    throw invalid(['groupColumn'], `${basename(path)} has no column ${quoted(column)}; it has ${listed}`);
  }
  const records = select([column]);
  if (problems.total > 0) throw problems.toError();
  return records.map(({ values: [value] }) =>
    typeof value === 'string' ? value : JSON.stringify(value ?? ''),
  );
}
