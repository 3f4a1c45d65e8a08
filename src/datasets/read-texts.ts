import { basename, extname } from 'node:path';
import { grouped, ProblemList, quoted, singleProblem, someOf } from './problems.js';
import { isObject, jsonRecords, looksLikeJson, own, type Records, tableRecords } from './records.js';
import { readRowText } from './row-text.js';
import { COLUMN_NAMES } from './shapes.js';
import type { TextLine } from './text-lines.js';

/** How much a file of texts may have. */
export interface TextLimits {
  readonly mostTexts: number;
  /** Per text, in UTF-16 code units. */
  readonly mostCharacters: number;
}

/** The endings of tables, whose first line names the columns, and of JSON. Any other file has one text per line. */
const RECORDS = ['.csv', '.tsv', '.jsonl', '.ndjson', '.json'];

/**
 * The different texts of a file without labels, in their order: one per line, or the column of the texts (`text`, else
 * `sentence`, `content`, `review` or `utterance`) of a table, JSON or JSON Lines. Blank ones are left out, and so are those
 * that differ from an earlier one only in case or spacing.
 * @throws DatasetError with every problem, each with its line
 */
export async function readTexts(path: string, { mostTexts, mostCharacters }: TextLimits): Promise<string[]> {
  const file = basename(path);
  const problems = new ProblemList();
  const { lines } = await readRowText(path);
  const texts = new Map<string, string>();
  for (const { line, value } of textsIn(path, lines, problems)) {
    if (typeof value !== 'string') {
      problems.add({ file, line, found: `found ${quoted(value)}`, expected: 'a text' });
      continue;
    }
    const text = value.trim();
    const key = text.toLowerCase().replace(/\s+/gu, ' ');
    if (key === '' || texts.has(key)) continue;
    texts.set(key, text);
    if (text.length <= mostCharacters) continue;
    const found = `found a text of ${grouped(text.length)} characters`;
    problems.add({ file, line, found, expected: `at most ${grouped(mostCharacters)}` });
  }
  if (problems.total > 0) throw problems.toError();
  if (texts.size === 0) throw singleProblem({ file, found: 'found no text', expected: 'at least one text' });
  if (texts.size <= mostTexts) return [...texts.values()];
  const found = `found ${grouped(texts.size)} different texts`;
  throw singleProblem({ file, found, expected: `at most ${grouped(mostTexts)}` });
}

interface FoundText {
  readonly line: number;
  readonly value: unknown;
}

function textsIn(path: string, lines: readonly TextLine[], problems: ProblemList): readonly FoundText[] {
  const [file, ending] = [basename(path), extname(path.replace(/\.gz$/iu, '')).toLowerCase()];
  if (!RECORDS.includes(ending) && !looksLikeJson(lines)) {
    return lines.map(({ number: line, text: value }) => ({ line, value }));
  }
  const isTable = ['.csv', '.tsv'].includes(ending) && !looksLikeJson(lines);
  const found = isTable
    ? tableRecords(lines, file, problems, ending === '.tsv' ? '\t' : undefined)
    : jsonRecords(lines, file, problems);
  return columnIn(found, file);
}

/** @throws DatasetError if no column has the name of one of texts */
function columnIn(found: Records, file: string): readonly FoundText[] {
  const lower = found.columns.map((name) => name.trim().toLowerCase());
  const at = COLUMN_NAMES.text.map((name) => lower.indexOf(name)).find((place) => place >= 0);
  if (at === undefined) {
    const listed = someOf(found.columns.map((name) => quoted(name)));
    const expected = `a column ${quoted('text')}, or a .txt file with one text per line`;
    throw singleProblem({ file, line: found.header ?? 1, found: `found the columns ${listed}`, expected });
  }
  if (found.cells) return found.cells.map(({ line, cells }) => ({ line, value: cells[at] ?? '' }));
  const name = found.columns[at] ?? '';
  return found.records.map(({ line, value }) => ({ line, value: isObject(value) ? (own(value, name) ?? '') : value }));
}
