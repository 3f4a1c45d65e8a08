import { DatasetError, type DatasetProblem, isError, MAX_LISTED_PROBLEMS } from '../contract/index.js';

/** Collects what is wrong with a dataset: keeps the first {@link MAX_LISTED_PROBLEMS} problems, counts the others. */
export class ProblemList {
  readonly #listed: DatasetProblem[] = [];
  #total = 0;

  add(problem: DatasetProblem): void {
    this.#total += 1;
    if (this.#listed.length < MAX_LISTED_PROBLEMS) this.#listed.push(problem);
  }

  get total(): number {
    return this.#total;
  }

  toError(): DatasetError {
    return new DatasetError(this.#listed, this.#total);
  }

  /** What was found so far; the list is empty again. */
  taken(): DatasetError {
    const error = this.toError();
    this.#listed.length = 0;
    this.#total = 0;
    return error;
  }
}

export function singleProblem(problem: DatasetProblem, cause?: unknown): DatasetError {
  return new DatasetError([problem], 1, cause === undefined ? undefined : { cause });
}

const LONGEST_QUOTE = 60;

/** A value as problems show it: JSON or, for what JSON can't write, a string; cut after 60 characters. */
export function quoted(value: unknown): string {
  let json: string;
  try {
    json = JSON.stringify(value) ?? String(value);
  } catch {
    json = String(value); // a BigInt, or an object that has itself
  }
  return json.length <= LONGEST_QUOTE ? json : `${json.slice(0, LONGEST_QUOTE)}…`;
}

/** The first few of a list of names: `a.tsv, b.tsv and 12 more`; `nothing` for an empty list. */
export function someOf(names: readonly string[], most = 6): string {
  if (names.length === 0) return 'nothing';
  const shown = names.slice(0, most).join(', ');
  return names.length <= most ? shown : `${shown} and ${grouped(names.length - most)} more`;
}

/** 12345 → "12,345" */
export function grouped(value: number): string {
  return value.toLocaleString('en-US');
}

/** `1 row`, `12,345 rows`. @param nouns for other numbers than 1 */
export function counted(value: number, noun: string, nouns = `${noun}s`): string {
  return `${grouped(value)} ${value === 1 ? noun : nouns}`;
}

/** A size in the largest binary unit it fills: `512 MiB`, `1.5 KiB`, `17 bytes`. */
export function describeBytes(bytes: number): string {
  const units = ['GiB', 'MiB', 'KiB'];
  for (const [index, unit] of units.entries()) {
    const size = 1024 ** (units.length - index);
    if (bytes >= size) return `${Math.round((bytes / size) * 10) / 10} ${unit}`;
  }
  return `${bytes} bytes`;
}

/** What a job may warn about. No warning stops training. Later versions may add kinds. */
export type DatasetWarningKind =
  | 'duplicate_row'
  | 'conflicting_labels'
  | 'doubtful_label'
  | 'train_row_in_dev'
  | 'class_without_examples'
  | 'passage_without_question'
  | 'unknown_field'
  | 'unread_column'
  | 'invalid_row'
  | 'misplaced_entity'
  | 'similar_labels'
  | 'odd_label'
  | 'label_not_found'
  | 'unused_description'
  | 'empty_sentence'
  | 'inside_without_begin'
  | 'truncated_text'
  | 'no_backbone'
  | 'backbone_lowercase'
  | 'unfamiliar_text'
  | 'float32_kept'
  | 'device'
  | (string & Record<never, never>);

/** A line of a file of the dataset, or a row in memory. */
export interface DatasetLocation {
  /** Path inside the archive, or the name of the file of rows; for rows in memory, the name of the option. */
  readonly file: string;
  /** Line in the file, or position of the row in memory, from 1. */
  readonly line: number;
}

/** A warning about a dataset. It does not stop the training. */
export interface DatasetWarning {
  readonly kind: DatasetWarningKind;
  /** How many rows, or other parts of the dataset such as labels or entities, it concerns. */
  readonly count: number;
  /** The warning, in a sentence. */
  readonly message: string;
  /** The first places that it concerns, at most {@link MAX_WARNING_EXAMPLES}. */
  readonly examples: readonly DatasetLocation[];
}

/** How many places a warning names. */
export const MAX_WARNING_EXAMPLES = 5;

export function warnAbout(
  kind: DatasetWarningKind,
  places: readonly DatasetLocation[],
  message: string,
): readonly DatasetWarning[] {
  if (places.length === 0) return [];
  const examples = places.slice(0, MAX_WARNING_EXAMPLES).map(({ file, line }) => ({ file, line }));
  return [{ kind, count: places.length, message, examples }];
}

/** By the file system's codes, in words that follow a name. */
const reasons: ReadonlyMap<string, string> = new Map([
  ['EEXIST', 'another entry has that path'],
  ['EISDIR', 'a folder has that path'],
  ['ENOTDIR', 'a file has the path of one of its folders'],
  ['ENAMETOOLONG', 'its name is too long'],
  ['EINVAL', 'its name is not allowed for a file'],
  ['EACCES', 'reading is not permitted'],
  ['ENOENT', 'there is no such file'],
]);

/** Why the file system refused a file. Never its own message, which has the path on this machine. */
export function fileFailure(thrown: unknown): string {
  const code = isError(thrown) && 'code' in thrown ? String(thrown.code) : 'an unknown error';
  const reason = reasons.get(code);
  return reason === undefined ? code : `${code}: ${reason}`;
}
