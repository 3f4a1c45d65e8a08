import { readFile, writeFile } from 'node:fs/promises';
import { deserialize, serialize } from 'node:v8';
import { DEFAULT_DEV_FRACTION } from '../contract/index.js';
import {
  counted,
  type DatasetLocation,
  type DatasetWarning,
  leftOut,
  ProblemList,
  type RowTable,
  warnAbout,
} from '../datasets/index.js';
import { filterWithPauses, isPauseDue, mapWithPauses, pause, Random } from '../system/index.js';

export interface RowSets {
  readonly train: RowTable;
  readonly dev?: RowTable | undefined;
  /** Share of the rows to set aside for dev. Default {@link DEFAULT_DEV_FRACTION}. */
  readonly devFraction?: number | undefined;
  /** Decides which rows are set aside. Default 0. */
  readonly seed?: number | undefined;
  /** Labels, or types of entities, in the order of their ids. Default: those that occur, sorted. */
  readonly classes?: readonly string[] | undefined;
  /** Classification: what labels mean, in words. Default: what their names say. */
  readonly descriptions?: Readonly<Record<string, string>> | undefined;
  /** Whether rows with a problem are left out, with a warning. Default false: they are an error. */
  readonly skipInvalid?: boolean | undefined;
  /** Question answering: passages to search besides those of the rows. Default: none. */
  readonly passages?: Iterable<string> | undefined;
}

/** What a family trains on, as plain data: it travels between threads by structured clone. */
export interface Dataset {
  readonly train: readonly unknown[];
  readonly dev: readonly unknown[];
  /** Whether the dev rows were drawn from the rows because none were given: where there are few, they may be trained on. */
  readonly isDevDrawn?: boolean;
  readonly warnings: readonly DatasetWarning[];
}

/** Writes a dataset to a file that only this version of Node.js reads, for another thread or process. */
export async function writeDataset(file: string, dataset: Dataset): Promise<void> {
  await writeFile(file, serialize(dataset));
}

/** The dataset in a file of {@link writeDataset}. */
export async function readDataset(file: string): Promise<Dataset> {
  return deserialize(await readFile(file));
}

export interface CheckedRowSets<Made extends Dataset = Dataset> {
  readonly dataset: Made;
  /** A warning about the rows that were left out because they repeat an earlier one; none if there are none. */
  readonly leftOut: readonly DatasetWarning[];
}

export interface Splits<Row> {
  readonly train: readonly Row[];
  readonly dev: readonly Row[];
}

/** What a split needs to know about a row. */
interface SplitKeys {
  /** Rows with the same text stay together, so that dev has nothing that train has seen. */
  readonly text: string;
  readonly labels: readonly (string | number)[];
}

/**
 * The same rows for the same seed. Stratified: each label gives its share of texts, rounded, and at least one if it has
 * two or more; a row with several labels counts for its rarest.
 */
function splitDev<Row>(
  rows: readonly Row[],
  keysOf: (row: Row) => SplitKeys,
  { devFraction = DEFAULT_DEV_FRACTION, seed = 0 }: Pick<RowSets, 'devFraction' | 'seed'>,
): Splits<Row> {
  const random = Random.fromSeed(seed);
  const devTexts = new Set<string>();
  const keys = rows.map(keysOf);
  for (const texts of textsByStratum(keys)) {
    const most = texts.length - 1;
    const wanted = Math.max(1, Math.round(texts.length * devFraction));
    for (const text of random.shuffle(texts).slice(0, Math.min(wanted, most))) devTexts.add(text);
  }
  const isDev = (_: Row, at: number) => devTexts.has(keys[at]?.text ?? '');
  return { train: rows.filter((row, at) => !isDev(row, at)), dev: rows.filter(isDev) };
}

/** The distinct texts, grouped by the label that they count for; those without a label are one more group. */
function textsByStratum(rows: readonly SplitKeys[]): Iterable<readonly string[]> {
  const frequency = new Map<string | number, number>();
  for (const { labels } of rows) {
    for (const label of labels) frequency.set(label, (frequency.get(label) ?? 0) + 1);
  }
  const strata = new Map<string | number | undefined, string[]>();
  const seen = new Set<string>();
  for (const { text, labels } of rows) {
    if (seen.has(text)) continue;
    seen.add(text);
    const byFrequency = (a: string | number, b: string | number) => (frequency.get(a) ?? 0) - (frequency.get(b) ?? 0);
    const [rarest] = labels.length < 2 ? labels : [...labels].sort(byFrequency);
    const stratum = strata.get(rarest);
    if (stratum) stratum.push(text);
    else strata.set(rarest, [text]);
  }
  return strata.values();
}

interface SplitRules<Row> {
  /** What a row is called: `text`, `sentence`, `question`. */
  readonly noun: string;
  /** What some rows can be set aside of, in words. */
  readonly needed: string;
  /** Checks the rows of a table; each that is invalid adds a problem and is left out. */
  readonly check: (table: RowTable) => readonly Row[] | Promise<readonly Row[]>;
  /** Equal for rows that say the same. */
  readonly keyOf: (row: Row) => string;
  readonly splitKeysOf: (row: Row) => SplitKeys;
  readonly checkTrainable: (train: readonly Row[]) => void;
}

/** Distinct rows to train on and for dev; dev is some of the others if none is given. @throws DatasetError */
export async function splitRowSets<Row extends DatasetLocation>(
  sets: RowSets,
  problems: ProblemList,
  { noun, needed, check, keyOf, splitKeysOf, checkTrainable }: SplitRules<Row>,
): Promise<Splits<Row> & Pick<CheckedRowSets, 'leftOut'> & { readonly isDevDrawn: boolean }> {
  const repeated: Row[] = [];
  const distinct = (rows: readonly Row[]) => {
    const seen = new Set<string>();
    return rows.filter((row) => {
      const key = keyOf(row);
      const isNew = !seen.has(key);
      if (isNew) seen.add(key);
      else repeated.push(row);
      return isNew;
    });
  };
  let invalid = 0;
  const checked = async (table: RowTable) => {
    const rows = await check(table);
    invalid += table.checked.rows.length - rows.length;
    return distinct(rows);
  };
  const all = await checked(sets.train);
  const given = sets.dev && (await checked(sets.dev));
  const isSkipping = problems.total > 0 && sets.skipInvalid === true;
  const skipped = isSkipping ? [leftOut(problems.taken(), invalid)] : [];
  if (problems.total > 0) throw problems.toError();
  const { train, dev } = given ? { train: all, dev: given } : splitDev(all, splitKeysOf, sets);
  checkTrainable(train);
  if (dev.length === 0) {
    const found = `found too few ${noun}s to set any aside for dev`;
    problems.add({ file: sets.train.origin, found, expected: needed });
  }
  if (problems.total > 0) throw problems.toError();
  const rows = counted(repeated.length, 'repeated row was', 'repeated rows were');
  const message = `${rows} left out; each distinct row is used once`;
  const isDevDrawn = given === undefined && sets.devFraction === undefined;
  const warnings = [...skipped, ...warnAbout('duplicate_row', repeated, message)];
  return { train, dev, isDevDrawn, leftOut: warnings };
}

/** What reading an archive gives. @throws DatasetError with every problem */
export async function requireValid<Made>(read: (problems: ProblemList) => Promise<Made | undefined>): Promise<Made> {
  const problems = new ProblemList();
  const made = await read(problems);
  if (made === undefined || problems.total > 0) throw problems.toError();
  return made;
}

/** How the rows of a family are compared. */
export interface RowComparison<Row> {
  readonly noun: string;
  readonly train: string;
  readonly dev: string;
  /** Equal for rows with the same text, as far as a model can tell. */
  readonly textOf: (row: Row) => string;
  /** What a row says of its text, as one string. */
  readonly answerOf: (row: Row) => string;
  /** What equal rows may differ in, in words. Default: nothing. */
  readonly aside?: string;
  /** What a row that contradicts an earlier one has, in words; absent where a text may have several answers. */
  readonly conflict?: string;
}

/** Warnings about rows of train that repeat or contradict an earlier one, or are in dev too. */
export async function comparisonWarnings<Row extends DatasetLocation>(
  { train, dev }: Splits<Row>,
  comparison: RowComparison<Row>,
  signal?: AbortSignal,
): Promise<readonly DatasetWarning[]> {
  const { noun, textOf, answerOf, aside = '', conflict } = comparison;
  const first = new Map<string, string>();
  const others = new Map<string, Set<string>>(); // few texts have several answers
  const duplicates: Row[] = [];
  const conflicts: Row[] = [];
  for (const row of train) {
    if (isPauseDue()) await pause(signal);
    const text = textOf(row);
    const answer = answerOf(row);
    const earlier = first.get(text);
    if (earlier === undefined) first.set(text, answer);
    else if (earlier === answer || others.get(text)?.has(answer)) duplicates.push(row);
    else {
      others.set(text, (others.get(text) ?? new Set()).add(answer));
      conflicts.push(row);
    }
  }
  const devTexts = new Set(await mapWithPauses(dev, textOf, signal));
  const shared = await filterWithPauses(train, (row) => devTexts.has(textOf(row)), signal);
  const some = (rows: readonly Row[], verb: string, ofMany: string) =>
    `${counted(rows.length, noun)} of ${comparison.train} ${rows.length === 1 ? verb : ofMany}`;
  const repeat = some(duplicates, 'repeats an earlier one', 'repeat earlier ones');
  const tooGood = `so the metrics on ${comparison.dev} are too high`;
  return [
    ...warnAbout('duplicate_row', duplicates, `${repeat}${aside}`),
    ...(conflict ? warnAbout('conflicting_labels', conflicts, `${some(conflicts, 'has', 'have')} ${conflict}`) : []),
    ...warnAbout('train_row_in_dev', shared, `${some(shared, 'is', 'are')} also in ${comparison.dev}, ${tooGood}`),
  ];
}

/** What is wrong with a text of a dataset, as the parts of a problem; undefined if nothing is. */
export function findTextProblem(text: string): { found: string; expected: string } | undefined {
  if (text.trim() === '') return { found: 'found an empty text', expected: 'a text that is not blank' };
  if (/\p{Surrogate}/u.test(text)) return { found: 'found half a surrogate pair', expected: 'whole characters' };
  return undefined;
}

/** A text without differences in case and spacing, which most tokenizers drop too, so that equal texts match. */
export function foldText(text: string): string {
  return text.trim().replace(/\s+/g, ' ').toLowerCase();
}

/** Equal for labels that differ only in case, spaces or Unicode form. */
export function foldLabel(label: string): string {
  return foldText(label.normalize('NFKC'));
}
