import * as z from 'zod';
import { AbortedError, requireOptions, validate } from '../contract/index.js';
import {
  type CheckedRows,
  type ColumnCell,
  counted,
  invalid,
  type RowTable,
  requireUsedReading,
  rowPlace,
  rowsAt,
  rowsOf,
  type TrainingRow,
} from '../datasets/index.js';
import { families } from '../families/index.js';
import { type FoundModel, findModel } from '../models/index.js';
import {
  isPauseDue,
  mapWithPauses,
  pause,
  Random,
  type Steps,
  TemporaryDirectory,
  withPauses,
} from '../system/index.js';
import type { Answer } from './answers.js';
import type {
  CrossValidateOptions,
  CrossValidation,
  FoldFigure,
  FoldSummary,
  OutOfFoldAnswer,
} from './cross-validate.js';
import {
  answersTo,
  askedOf,
  type BootstrapOptions,
  type Evaluation,
  type Example,
  examplesFor,
  examplesOf,
  type JudgedModel,
  judge,
  keyOfTexts,
} from './evaluate.js';
import { evaluationFigures } from './evaluation-report.js';
import { doubtfulRows } from './label-errors.js';
import type { ModelText } from './model.js';
import { OpenModel } from './open-model.js';
import { type FoundType, nameOf, readingOf, requirePositive, requireUsedSettings } from './training/prepare-dataset.js';
import { datasetOfFold, readColumn, readTypedTable } from './training/read-apart.js';
import { trainInFolder } from './training/train-model.js';
import { callback, settingsFrom, type TrainSettings, trainSchema } from './training/train-options.js';

/** How `crossValidate` works: trains on all folds but one, evaluates on that one, and repeats this for every fold. */

const { url, dev, test, output, labels, ...trainingShape } = trainSchema.shape;
const crossValidateSchema = z.strictObject({
  ...trainingShape,
  folds: z.int().min(2).max(100).default(5),
  repeats: z.int().min(1).max(20).default(1),
  groups: z.union([z.array(z.string()), callback<(row: TrainingRow, at: number) => string>()]).optional(),
  groupColumn: z.string().min(1, 'the name of the column is empty').optional(),
  resamples: z.int().min(100).max(100_000).default(1000),
  onFold: callback<(fold: FoldSummary) => void>().optional(),
});

interface Validation {
  readonly settings: CrossValidateSettings;
  readonly table: RowTable;
  readonly rows: readonly Example[];
  readonly units: readonly FoldUnit[];
  readonly type: FoundType;
  readonly judged: JudgedModel;
  readonly base: FoundModel | undefined;
}

export async function crossValidateRows(options: CrossValidateOptions): Promise<CrossValidation> {
  const startedAt = performance.now();
  const settings = crossValidateSettings(options);
  const { base, modelLoader, signal } = settings.training;
  if (signal?.aborted) throw new AbortedError('the cross-validation', { cause: signal.reason });
  const { source } = settings.training;
  const given = source.kind === 'rows' ? source.rows : source.kind === 'path' ? source.path : undefined;
  if (given === undefined) throw invalid(['rows'], 'give `rows`, or the `path` of a file of rows');
  const { labels, passages, type: asked, tuning } = settings.training;
  const effort = settings.training.effort ?? tuning?.effort;
  // All rows are checked as one dataset: problems of any row are reported before the first training run.
  const reading = readingOf(given, settings.training);
  const read = await readTypedTable({ rows: given, reading, labels, passages, type: asked, effort, signal });
  const { table, type } = read;
  requireUsedReading([table], settings.training);
  requireUsedSettings(type, settings.training);
  const rows = await examplesOf(table.checked, signal, type.type === 'multilabel-text-classification');
  const groups = await readGroups(settings, table);
  const units = await withPauses(unitsOf(rows, groups), signal);
  await withPauses(requireDivisible(table, units, settings.folds), signal);
  const validation: Validation = {
    ...{ settings, table, rows, units, type },
    judged: {
      kind: families[type.family].answerView,
      type: type.type,
      name: nameOf(settings.training),
      labels: [...(await withPauses(labelsOf(units), signal))].sort(),
    },
    base: base === undefined ? undefined : await findModel(base, { modelLoader, backbones: true, signal }),
  };
  requirePositive(settings.training.positive, type.type, validation.judged.labels);
  const result = await runRepeats(validation);
  const warnings = [...(table.warnings ?? []), ...read.leftOut, ...read.warnings];
  const { type: name, typeIs, reason } = type;
  const seconds = (performance.now() - startedAt) / 1000;
  return { type: name, typeIs, reason, ...result, warnings, seconds };
}

const textsAt = (rows: readonly Example[], row: number): string => keyOfTexts(rows[row] ?? { text: '' });

function* labelsOf(units: readonly FoldUnit[]): Steps<ReadonlySet<string>> {
  const found = new Set<string>();
  for (const { labels } of units) {
    yield;
    for (const label of labels) found.add(label);
  }
  return found;
}

type CrossValidateSettings = ReturnType<typeof crossValidateSettings>;

function crossValidateSettings(options: unknown) {
  const checked = validate(crossValidateSchema, requireOptions(options ?? {}, '`crossValidate({ rows })`'));
  const { folds, repeats, groups, groupColumn, resamples, onFold, ...rest } = checked;
  // An array, since each fold reads the passages again.
  const training = settingsFrom({ ...rest, passages: rest.passages && [...rest.passages] });
  if (groups !== undefined && training.source.kind === 'path') {
    throw invalid(['groups'], 'applies only to rows in memory; for a file, name the column with `groupColumn`');
  }
  if (groupColumn !== undefined && training.source.kind === 'rows') {
    throw invalid(['groupColumn'], 'rows in memory have no columns; give the group of each row with `groups`');
  }
  return { training, folds, repeats, groups, groupColumn, resamples, onFold };
}

async function readGroups(
  { groups, groupColumn, training }: CrossValidateSettings,
  table: RowTable,
): Promise<readonly string[] | undefined> {
  const {
    checked: { rows },
    places,
  } = table;
  const { source, signal } = training;
  if (typeof groups === 'function') return rows.map((row, at) => String(groups(row, rowPlace(table, at).row)));
  if (groups !== undefined) {
    // Also those of rows that are left out.
    requireOneEach('groups', groups.length, places?.given ?? rows.length);
    return rows.map((_, at) => groups[rowPlace(table, at).row] ?? '');
  }
  if (groupColumn === undefined || source.kind !== 'path') return undefined;
  const reading = readingOf(source.path, training);
  const cells = await readColumn({ rows: source.path, column: groupColumn, reading, signal });
  const read = await groupsOf(cells, places?.lines ?? [], signal);
  requireOneEach('groupColumn', read.length, rows.length);
  return read;
}

function requireOneEach(option: string, groups: number, rows: number): void {
  if (groups === rows) return;
  const found = `found ${counted(groups, 'group')} for ${counted(rows, 'row')}`;
  throw invalid([option], `${found}; give one group for each row`);
}

/** The cells of the rows on some lines, as some records may be left out; all cells where several share a line. */
async function groupsOf(
  cells: readonly ColumnCell[],
  lines: readonly number[],
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const byLine = new Map<number, string>();
  for (const { line, value } of cells) {
    byLine.set(line, value);
    if (isPauseDue()) await pause(signal);
  }
  if (byLine.size < cells.length) return mapWithPauses(cells, ({ value }) => value, signal);
  const groups = await mapWithPauses(lines, (line) => byLine.get(line), signal);
  return groups.filter((group) => group !== undefined);
}

/** @throws ValidationError if folds would be empty, or would leave nothing to learn */
function* requireDivisible({ checked, origin }: RowTable, units: readonly FoldUnit[], folds: number): Steps<void> {
  if (units.length < folds) {
    const what = counted(units.length, 'distinct text or group', 'distinct texts or groups');
    throw invalid(['folds'], `${rowsOf(origin)} have ${what}, too few for ${folds} folds; use fewer folds or add rows`);
  }
  if (checked.shape !== 'label') return;
  const counts = new Map<string, number>();
  for (const { labels } of units) {
    yield;
    for (const label of new Set(labels)) counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  const lasting = [...counts.values()].filter((count) => count > 1);
  if (lasting.length < 2) {
    const msg = `in ${rowsOf(origin)}, fewer than two labels have two different texts or groups each, so a fold could leave only one label to learn; add rows`;
    throw invalid(['rows'], msg);
  }
}

async function runRepeats(validation: Validation) {
  const { settings, table, rows, judged } = validation;
  const { repeats, resamples } = settings;
  const folds: FoldSummary[] = [];
  const answers: OutOfFoldAnswer[] = [];
  const evaluations: Evaluation[] = [];
  const given = rows.map((): Answer[] => []);
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const byText = new Map<string, OutOfFoldAnswer>();
    for await (const { summary, found } of repeatFolds(validation, repeat)) {
      folds.push(summary);
      for (const each of found) byText.set(textsAt(rows, each.row), each);
    }
    for (const [row, example] of rows.entries()) {
      const answer = byText.get(keyOfTexts(example));
      if (answer === undefined) continue;
      answers.push({ ...answer, row: rowPlace(table, row).row });
      given[row]?.push(answer.answer);
    }
    const { seed } = settings.training;
    evaluations.push(await evaluated(validation, table.checked, byText, { resamples, seed }));
  }
  const firstRowOf = new Map(rows.map(({ text }, row) => [text, row] as const).reverse());
  // A repeated question counts once, with the answers to its first row.
  const examples = await examplesFor(judged, table.checked, table.origin, settings.training.signal);
  const answered = examples.map((example, at) => {
    const row = judged.kind === 'passages' ? (firstRowOf.get(example.text) ?? 0) : at;
    return { row, example, answers: given[row] ?? [] };
  });
  const found = doubtfulRows(answered, judged.type === 'multilabel-text-classification');
  const doubtful = found.map((each) => ({ ...each, ...rowPlace(table, each.row) }));
  return { folds, figures: figuresOverFolds(folds), evaluations, answers, doubtful };
}

/** @returns each fold with the answers to its held-out rows */
async function* repeatFolds(validation: Validation, repeat: number) {
  const { settings, table, rows, units } = validation;
  const { signal, seed } = settings.training;
  const foldOf = await withPauses(assignFolds(units, settings.folds, Random.fromSeed(seed, repeat)), signal);
  for (let fold = 0; fold < settings.folds; fold += 1) {
    const startedAt = performance.now();
    const test = new Set(units.flatMap((unit, at) => (foldOf[at] === fold ? unit.rows : [])));
    await pause(signal);
    const train = new Set(rows.flatMap((_, row) => (test.has(row) ? [] : [row])));
    await pause(signal);
    const held = [...test].sort((a, b) => a - b);
    const texts = held.flatMap((row) => rows.slice(row, row + 1)).map(askedOf);
    await pause(signal);
    const answers = await trainFold(validation, rowsAt(table.checked, train), texts);
    const found = answers.map((answer, at) => ({ row: held[at] ?? 0, repeat, fold, answer }));
    const byText = new Map(found.map((each) => [textsAt(rows, each.row), each]));
    await pause(signal);
    const testRows = rowsAt(table.checked, test);
    const evaluation = await evaluated(validation, testRows, byText, { resamples: 0, seed: 0 });
    const figures = Object.fromEntries(evaluationFigures(evaluation).map(({ name, value }) => [name, value]));
    const seconds = (performance.now() - startedAt) / 1000;
    const summary = { repeat, fold, train: train.size, test: test.size, figures, seconds };
    settings.onFold?.(summary);
    yield { summary, found };
  }
}

async function evaluated(
  { judged, table, settings }: Validation,
  checked: CheckedRows,
  byText: ReadonlyMap<string, OutOfFoldAnswer>,
  bootstrap: BootstrapOptions,
): Promise<Evaluation> {
  const { signal, positive } = settings.training;
  const examples = await examplesFor(judged, checked, table.origin, signal);
  const answers = examples.map((example) => byText.get(keyOfTexts(example))?.answer);
  return withPauses(judge(judged, examples, answers, { ...bootstrap, positive }), signal);
}

/**
 * Trains a model on some rows and asks it about other texts. Keeps float32 weights unless 8-bit ones are asked for: they
 * cost up to half a point, and take most of the time of training on few rows.
 * @returns the answers, in the order of the texts.
 */
async function trainFold(
  { settings, table, rows, type: found, base }: Validation,
  checked: CheckedRows,
  texts: readonly ModelText[],
): Promise<readonly Answer[]> {
  const { training } = settings;
  const { devFraction, seed, signal, device } = training;
  // Each model searches the passages of all rows, as a model trained on all rows will.
  const passages =
    found.type === 'question-answering'
      ? [...new Set(rows.flatMap((row) => row.passages)), ...(training.passages ?? [])]
      : undefined;
  const name = nameOf(training);
  const { type, family } = found;
  const fold = { checked, origin: table.origin, type: found, devFraction, seed, passages, signal };
  const tuning: TrainSettings['tuning'] = { quantize: false, ...training.tuning };
  const work = new TemporaryDirectory();
  const train = async () => {
    const dataset = await datasetOfFold(fold, await work.path());
    return trainInFolder({ dataset, model: { name, type, family }, base }, { ...training, tuning });
  };
  const trained = await train().finally(() => work.remove());
  try {
    const { directory } = trained;
    const opened = await OpenModel.open({ name, directory }, { service: { device }, signal });
    return await answersTo(opened, texts, { signal }).finally(() => opened.close());
  } finally {
    await trained.remove();
  }
}

export function figuresOverFolds(folds: readonly Pick<FoldSummary, 'figures'>[]): readonly FoldFigure[] {
  const names = Object.keys(folds[0]?.figures ?? {});
  return names.map((name) => {
    const values = folds.map(({ figures }) => figures[name] ?? 0);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
    const deviation = Math.sqrt(squares / (values.length - 1));
    return { name, mean, deviation, lowest: Math.min(...values), highest: Math.max(...values) };
  });
}

/** Rows that stay together, such as those with one author or one text. */
export interface FoldUnit {
  readonly rows: readonly number[];
  /** The labels or entity types of all its rows, with repetitions. */
  readonly labels: readonly string[];
}

/**
 * Rows with the same text, ignoring case and spacing, form one unit; otherwise a model would be evaluated on texts that it
 * was trained on. So do rows of the same group.
 * @param groups the group of each row, if there are any.
 */
export function* unitsOf(rows: readonly Example[], groups: readonly string[] | undefined): Steps<FoldUnit[]> {
  const sets = new DisjointSets(rows.length);
  const joinEqual = function* (keyOf: (row: number) => string): Steps<void> {
    const first = new Map<string, number>();
    for (const row of rows.keys()) {
      yield;
      const key = keyOf(row);
      const earlier = first.get(key);
      if (earlier === undefined) first.set(key, row);
      else sets.join(earlier, row);
    }
  };
  const folded = (text = '') => text.toLowerCase().replace(/\s+/g, ' ').trim();
  yield* joinEqual((row) =>
    keyOfTexts({ text: folded(rows[row]?.text), text2: rows[row]?.text2 && folded(rows[row].text2) }),
  );
  if (groups !== undefined) yield* joinEqual((row) => groups[row] ?? '');
  const units = new Map<number, { rows: number[]; labels: string[] }>();
  for (const [row, { labels, entities }] of rows.entries()) {
    yield;
    const root = sets.rootOf(row);
    const unit = units.get(root) ?? { rows: [], labels: [] };
    unit.rows.push(row);
    unit.labels.push(...labels, ...entities.map(({ type }) => type));
    units.set(root, unit);
  }
  return [...units.values()];
}

/** Sets of rows that can be joined (union-find with path halving). */
class DisjointSets {
  readonly #parents: Int32Array;

  constructor(size: number) {
    this.#parents = Int32Array.from({ length: size }, (_, at) => at);
  }

  rootOf(row: number): number {
    let at = row;
    for (;;) {
      const parent = this.#parents[at] ?? at;
      if (parent === at) return at;
      const above = this.#parents[parent] ?? parent;
      this.#parents[at] = above;
      at = above;
    }
  }

  /** The earlier row becomes the root. */
  join(one: number, other: number): void {
    const [a, b] = [this.rootOf(one), this.rootOf(other)];
    this.#parents[Math.max(a, b)] = Math.min(a, b);
  }
}

interface Fold {
  readonly labels: Map<string, number>;
  rows: number;
}

/**
 * The fold of each unit, from 0, by iterative stratification (Sechidis, Tsoumakas & Vlahavas 2011): the rarest label is
 * distributed first, each unit to the fold that has the fewest of it. For single rows with one label each this is a
 * stratified k-fold: the count of each label differs by at most 1 between folds, and so do the sizes.
 * @param folds at most the number of units.
 */
export function* assignFolds(units: readonly FoldUnit[], folds: number, random: Random): Steps<Int32Array> {
  const foldOf = new Int32Array(units.length).fill(-1);
  const all = Array.from({ length: folds }, (): Fold => ({ labels: new Map(), rows: 0 }));
  const order = yield* largestFirst(units, random.shuffle(units.keys()));
  const place = (at: number, label: string | undefined) => {
    const unit = units[at];
    if (unit === undefined || foldOf[at] !== -1) return;
    const fold = emptiest(all, label);
    foldOf[at] = fold;
    addTo(all[fold], unit);
  };
  for (const stratum of rarestFirst(units, order, foldOf)) {
    yield;
    for (const at of stratum?.holders ?? []) {
      yield;
      place(at, stratum?.label);
    }
  }
  for (const at of order) {
    yield;
    place(at, undefined);
  }
  return foldOf;
}

function addTo(fold: Fold | undefined, { rows, labels }: FoldUnit): void {
  if (fold === undefined) return;
  fold.rows += rows.length;
  for (const label of labels) fold.labels.set(label, (fold.labels.get(label) ?? 0) + 1);
}

/** The fold with the fewest of a label; among equals, the one with the fewest rows. */
function emptiest(folds: readonly Fold[], label: string | undefined): number {
  const countIn = (fold: Fold) => (label === undefined ? 0 : (fold.labels.get(label) ?? 0));
  let best = 0;
  for (const [at, fold] of folds.entries()) {
    const leader = folds[best];
    if (leader === undefined) continue;
    const lead = countIn(fold) - countIn(leader) || fold.rows - leader.rows;
    if (lead < 0) best = at;
  }
  return best;
}

interface Stratum {
  readonly label: string;
  /** Units with this label that are not in a fold yet. */
  readonly holders: readonly number[];
}

/** Larger units first, since there is less room for them later; equal ones in their order. */
function* largestFirst(units: readonly FoldUnit[], order: readonly number[]): Steps<number[]> {
  const bySize = new Map<number, number[]>();
  for (const at of order) {
    yield;
    const size = units[at]?.rows.length ?? 0;
    const same = bySize.get(size);
    if (same) same.push(at);
    else bySize.set(size, [at]);
  }
  return [...bySize].sort(([a], [b]) => b - a).flatMap(([, same]) => same);
}

/** Repeatedly, the label that the fewest remaining units have; undefined wherever it may be interrupted. */
function* rarestFirst(
  units: readonly FoldUnit[],
  order: readonly number[],
  foldOf: Int32Array,
): Generator<Stratum | undefined> {
  const holders = new Map<string, number[]>();
  for (const at of order) {
    yield;
    for (const label of new Set(units[at]?.labels)) {
      const known = holders.get(label);
      if (known) known.push(at);
      else holders.set(label, [at]);
    }
  }
  while (holders.size > 0) {
    let rarest: Stratum | undefined;
    for (const [label, all] of holders) {
      yield;
      const left = all.filter((at) => foldOf[at] === -1);
      if (left.length === 0) holders.delete(label);
      else {
        holders.set(label, left);
        if (rarest === undefined || left.length < rarest.holders.length) rarest = { label, holders: left };
      }
    }
    if (rarest !== undefined) yield rarest;
  }
}
