import { DatasetError, type DatasetProblem, MAX_LISTED_PROBLEMS } from '../contract/index.js';

/**
 * Collects what is wrong with a dataset: keeps the first {@link MAX_LISTED_PROBLEMS} problems, counts the
 * others.
 */
export class ProblemList {
  readonly #listed: DatasetProblem[] = [];
  #total = 0;

  add(problem: DatasetProblem): void {
    this.#total += 1;
    if (this.#listed.length < MAX_LISTED_PROBLEMS) this.#listed.push(problem);
  }

  /** How many problems were added, including the unlisted ones. */
  get total(): number {
    return this.#total;
  }

  toError(): DatasetError {
    return new DatasetError(this.#listed, this.#total);
  }
}

/** An error with a single problem, after which nothing else can be checked. */
export function singleProblem(problem: DatasetProblem, cause?: unknown): DatasetError {
  return new DatasetError([problem], 1, cause === undefined ? undefined : { cause });
}

const LONGEST_QUOTE = 60;

/** A value as problems show it: JSON, cut after 60 characters. */
export function quoted(value: unknown): string {
  const json = JSON.stringify(value) ?? String(value);
  return json.length <= LONGEST_QUOTE ? json : `${json.slice(0, LONGEST_QUOTE)}…`;
}

/** The first few of a list of names: `a.tsv, b.tsv and 12 more`; `nothing` for an empty list. */
export function someOf(names: readonly string[], most = 6): string {
  if (names.length === 0) return 'nothing';
  const shown = names.slice(0, most).join(', ');
  return names.length <= most ? shown : `${shown} and ${count(names.length - most)} more`;
}

/** A count with thousands separators. */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** `1 column`, `3 columns`. */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
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
