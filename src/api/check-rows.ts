import { availableParallelism } from 'node:os';
import leven from 'leven';
import * as z from 'zod';
import { AbortedError, orThrow, requireOptions, validate } from '../contract/index.js';
import {
  arePairs,
  type DatasetWarning,
  invalid,
  type RowsOrPath,
  type RowTable,
  readingShape,
  requireUsedReading,
  rowPlace,
  rowsAt,
} from '../datasets/index.js';
import { type DoubtfulLabels, families, foldText } from '../families/index.js';
import { cpuExecutor } from '../graph/index.js';
import { embed, withSentenceEncoder } from '../search/index.js';
import { isPauseDue, mapWithPauses, pause, Random, type Steps, withPauses } from '../system/index.js';
import { singleTexts } from '../text/index.js';
import { readTokenizer, unfamiliarTexts } from '../training/index.js';
import type {
  CheckDataOptions,
  ConflictingRows,
  ConfusedLabels,
  DataCheck,
  DuplicateRows,
  LabelCount,
  LeakedText,
  RowPlace,
} from './check-data.js';
import { type Example, entityNames, examplesOf } from './evaluate.js';
import type { DoubtfulRow } from './label-errors.js';
import { checkedRows, type FoundType, readingOf, requireFitting } from './training/prepare-dataset.js';
import { readTable, readTypedTable } from './training/read-apart.js';
import { trainSchema } from './training/train-options.js';

/** How `checkData` works: compares all rows, and judges the labels of the different ones by folds. */

const { rows, path, type, dev, test, modelLoader, threads, seed, signal } = trainSchema.shape;
const checkSchema = z.strictObject({
  ...{ rows, path, type, dev, test, modelLoader, threads, seed, signal, ...readingShape },
  model: z.string().min(1, 'the name is empty').optional(),
  maxJudged: z.int().min(100).max(100_000).default(10_000),
});

type CheckSettings = z.infer<typeof checkSchema>;

/** Labels with fewer rows are rare: folds leave next to nothing to learn them from. */
const RARE = 5;

export async function checkRows(options: CheckDataOptions): Promise<DataCheck> {
  const startedAt = performance.now();
  const settings = validate(checkSchema, requireOptions(options ?? {}, '`checkData({ rows })`'));
  const { signal } = settings;
  if (signal?.aborted) throw new AbortedError('checking data', { cause: signal.reason });
  const source = sourceOf(settings);
  const asked = {
    rows: source,
    reading: readingOf(source, settings),
    labels: undefined,
    passages: undefined,
    type: settings.type,
    signal,
  };
  // All rows are checked as one dataset, so that problems of any row are reported.
  const { table, type: found, leftOut } = await readTypedTable(asked);
  const others: OtherSet[] = [];
  for (const set of ['dev', 'test'] as const) {
    const from = settings[set];
    if (from !== undefined) others.push({ set, table: await readOther(from, set, found, settings) });
  }
  const tables = [table, ...others.map((other) => other.table)];
  requireUsedReading(tables, settings);
  const isMultilabel = found.type === 'multilabel-text-classification';
  const examples = await examplesOf(table.checked, signal, isMultilabel);
  const isRetrieval = families[found.family].answerView === 'passages';
  const texts = await sameTexts(table, examples, signal);
  const labels = await withPauses(labelCounts(examples), signal);
  const { warnings, ...judged } = await judgeLabels(table, examples, found, settings);
  const { type, typeIs, reason } = found;
  return {
    ...{ type, typeIs, reason, rows: examples.length, labels },
    ...(table.readAs && { readAs: table.readAs }),
    warnings: [
      ...tables.flatMap((each) => each.warnings ?? []),
      ...leftOut.filter(({ kind }) => kind === 'invalid_row'),
      ...warnings,
    ],
    rareLabels: labels.filter((each) => each.rows < RARE),
    similarLabels: await withPauses(similarLabels(labels), signal),
    duplicates: await withPauses(duplicatesIn(texts), signal),
    conflicts: isRetrieval ? [] : await withPauses(conflictsIn(texts), signal),
    leaks: (await Promise.all(others.map((other) => leaksTo(other, texts, signal)))).flat(),
    ...judged,
    seconds: (performance.now() - startedAt) / 1000,
  };
}

function sourceOf({ rows, path }: CheckSettings): RowsOrPath {
  const [source, ...others] = [rows, path].filter((each) => each !== undefined);
  if (source !== undefined && others.length === 0) return source;
  const what = source === undefined ? 'nothing to check' : 'two sources of rows';
  throw invalid(['rows'], `${what}; give either \`rows\` or \`path\``);
}

interface OtherSet {
  readonly set: LeakedText['set'];
  readonly table: RowTable;
}

async function readOther(
  from: RowsOrPath,
  option: OtherSet['set'],
  found: FoundType,
  settings: CheckSettings,
): Promise<RowTable> {
  const isMultilabel = found.type === 'multilabel-text-classification';
  const reading = readingOf(from, settings);
  const table = await readTable({ rows: from, option, reading, isMultilabel, signal: settings.signal });
  requireFitting(table.checked, found, option);
  return table;
}

/** Rows with one text, by what they say of it. */
interface SameText {
  readonly text: string;
  readonly text2?: string;
  readonly byAnswer: ReadonlyMap<string, readonly AnsweredPlace[]>;
}

interface AnsweredPlace extends RowPlace {
  readonly given: readonly string[];
}

type SameTexts = ReadonlyMap<string, SameText>;

async function sameTexts(
  table: RowTable,
  examples: readonly Example[],
  signal: AbortSignal | undefined,
): Promise<SameTexts> {
  const found = new Map<string, Omit<SameText, 'byAnswer'> & { readonly byAnswer: Map<string, AnsweredPlace[]> }>();
  for (const [row, example] of examples.entries()) {
    if (isPauseDue()) await pause(signal);
    const key = foldedTexts(example);
    const same = found.get(key) ?? { ...textsIn(example), byAnswer: new Map<string, AnsweredPlace[]>() };
    found.set(key, same);
    const answer = answerOf(example);
    const places = same.byAnswer.get(answer);
    const place = { ...rowPlace(table, row), given: givenOf(example) };
    if (places) places.push(place);
    else same.byAnswer.set(answer, [place]);
  }
  return found;
}

function foldedTexts({ text, text2 }: Example): string {
  return text2 === undefined ? foldText(text) : `${foldText(text)}\n${foldText(text2)}`;
}

function textsIn({ text, text2 }: Pick<Example, 'text' | 'text2'>) {
  return { text, ...(text2 !== undefined && { text2 }) };
}

/** Equal for rows that say the same. */
function answerOf({ labels, entities, passages }: Example): string {
  const places = entities.map(({ start, end, type }) => `${start} ${end} ${type}`);
  return JSON.stringify([[...labels].sort(), places.sort(), passages.map(foldText).sort()]);
}

function givenOf({ text, labels, entities, passages }: Example): readonly string[] {
  return entities.length > 0 ? entityNames(text, entities) : [...labels, ...passages];
}

function placeOnly({ row, line }: RowPlace): RowPlace {
  return { row, ...(line !== undefined && { line }) };
}

function* duplicatesIn(texts: SameTexts): Steps<DuplicateRows[]> {
  const found: DuplicateRows[] = [];
  for (const { byAnswer, ...same } of texts.values()) {
    yield;
    for (const rows of byAnswer.values()) if (rows.length > 1) found.push({ ...same, rows: rows.map(placeOnly) });
  }
  return found;
}

function* conflictsIn(texts: SameTexts): Steps<ConflictingRows[]> {
  const found: ConflictingRows[] = [];
  for (const { byAnswer, ...same } of texts.values()) {
    yield;
    if (byAnswer.size < 2) continue;
    found.push({ ...same, rows: [...byAnswer.values()].flat().sort((a, b) => a.row - b.row) });
  }
  return found;
}

async function leaksTo(
  { set, table }: OtherSet,
  texts: SameTexts,
  signal: AbortSignal | undefined,
): Promise<LeakedText[]> {
  const shared = new Map<SameText, RowPlace[]>();
  for (const [row, example] of (await examplesOf(table.checked, signal)).entries()) {
    if (isPauseDue()) await pause(signal);
    const same = texts.get(foldedTexts(example));
    if (same === undefined) continue;
    const places = shared.get(same);
    if (places) places.push(rowPlace(table, row));
    else shared.set(same, [rowPlace(table, row)]);
  }
  return [...shared].map(([{ byAnswer, ...same }, others]) => {
    const rows = [...byAnswer.values()].flat().map(placeOnly);
    return { ...same, set, rows: rows.sort((a, b) => a.row - b.row), others };
  });
}

/** The most frequent first. */
function* labelCounts(examples: readonly Example[]): Steps<LabelCount[]> {
  const counts = new Map<string, number>();
  for (const { labels, entities } of examples) {
    yield;
    const used = new Set([...labels, ...entities.map(({ type }) => type)]);
    for (const label of used) counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  return [...counts].map(([label, rows]) => ({ label, rows })).sort((a, b) => b.rows - a.rows);
}

/** Of two labels that differ in one letter, one is a misspelling if it has at most this share of the other's rows. */
const MISSPELT = 0.2;
const SHORTEST_MISSPELT = 5;

/** @param labels the most frequent first. */
function* similarLabels(labels: readonly LabelCount[]): Steps<LabelCount[][]> {
  const groups: { readonly key: string; readonly members: LabelCount[] }[] = [];
  for (const each of labels) {
    yield;
    const key = plainLabel(each.label);
    const group = groups.find(
      ({ key: other, members: [first] }) =>
        other === key || (each.rows <= MISSPELT * (first?.rows ?? 0) && isMisspelling(key, other)),
    );
    if (group) group.members.push(each);
    else groups.push({ key, members: [each] });
  }
  return groups.flatMap(({ members }) => (members.length > 1 ? [members] : []));
}

/** Without case, accents, spacing and punctuation; the label itself if nothing else is in it. */
function plainLabel(label: string): string {
  const plain = label.normalize('NFKD').replaceAll(/[^\p{Letter}\p{Number}]+/gu, '');
  return plain === '' ? label : plain.toLowerCase();
}

/** Numbers that differ, as in `class1` and `class2`, mean something. */
function isMisspelling(one: string, other: string): boolean {
  const digits = (label: string) => label.replaceAll(/\P{Number}+/gu, ' ');
  const isLong = Math.min(one.length, other.length) >= SHORTEST_MISSPELT;
  return isLong && digits(one) === digits(other) && leven(one, other) === 1;
}

type JudgedLabels = Pick<DataCheck, 'labelErrors' | 'doubtful' | 'confusions' | 'warnings'>;

/** Rows beyond which the folds are not drawn several times. */
const REPEATED_ROWS = 6000;
const MOST_REPEATS = 3;
/** UTF-16 code units: far more than the encoder reads. */
const MOST_READ = 10_000;

/** Warns if the encoder that judged the labels hardly knows the language of the texts. */
async function unfamiliarTo(
  { model, modelLoader, signal }: CheckSettings,
  texts: readonly string[],
): Promise<readonly DatasetWarning[]> {
  return withSentenceEncoder({ model, modelLoader, signal }, async (judge) => {
    const { tokenizer } = await readTokenizer(judge);
    const encoder = `the encoder ${judge.name}, which judged the labels,`;
    const advice = 'name one that knows the language with `model`';
    const warning = await withPauses(unfamiliarTexts(texts, { encoder, tokenizer, advice }), signal);
    return warning ? [warning] : [];
  });
}

async function judgeLabels(
  table: RowTable,
  examples: readonly Example[],
  found: FoundType,
  settings: CheckSettings,
): Promise<JudgedLabels> {
  const { maxJudged, seed, threads = availableParallelism(), model, modelLoader, signal } = settings;
  const sample = await withPauses(differentRows(examples, maxJudged, seed), signal);
  // Positions stand for lines: rows of a JSON array may share one.
  const lines = sample.map((row) => row + 1);
  const places = { lines, columns: table.places?.columns ?? {} };
  const checked = rowsAt(table.checked, new Set(sample));
  const train = { checked, origin: table.origin, places };
  const { dataset } = await checkedRows({ train, skipInvalid: settings.skipInvalid }, found, signal);
  const { fewRows } = (await families[found.family].training()).task(dataset);
  if (fewRows?.checkLabels === undefined) return { doubtful: [], confusions: [], warnings: [] };
  const isPair = arePairs(checked);
  const texts = singleTexts(fewRows.texts, isPair ? 'pair' : undefined).map((text) => text.slice(0, MOST_READ));
  const vectors = await orThrow(embed(texts, { model, modelLoader, signal }));
  const states = isPair ? await mapWithPauses(fewRows.texts, (_, at) => pairState(vectors, at), signal) : vectors;
  const { noise } = await fewRows.checkLabels(states, {
    ...{ executor: cpuExecutor(threads), seed, signal: signal ?? new AbortController().signal },
    ...{ lowercase: true, language: 'english', balanced: true },
    repeats: Math.max(1, Math.min(MOST_REPEATS, Math.floor(REPEATED_ROWS / fewRows.trainRows))),
  });
  const doubtful = noise.doubtful.map((each): DoubtfulRow => {
    const { line = 1, given, suggested, probability, alternative } = each;
    const place = rowPlace(table, line - 1);
    return { ...place, ...textsIn(each), given, suggested, probability, score: alternative - probability };
  });
  return {
    labelErrors: { judged: noise.judged, expected: Math.round(noise.wrong), isEvident: noise.isEvident },
    doubtful,
    confusions: confusionsIn(noise.doubtful),
    warnings: await unfamiliarTo(settings, texts),
  };
}

/** |u − v| and u ∘ v of the vectors of both texts, as a classifier of pairs reads them (Conneau et al. 2017, InferSent), after u and v. */
function pairState(vectors: readonly Float32Array[], at: number): Float32Array {
  const [one = new Float32Array(), other = new Float32Array()] = vectors.slice(2 * at, 2 * at + 2);
  const differences = one.map((value, i) => Math.abs(value - (other[i] ?? 0)));
  const products = one.map((value, i) => value * (other[i] ?? 0));
  return Float32Array.of(...one, ...other, ...differences, ...products);
}

/** The first row of each text and label, or a sample of them. @returns positions in their order */
function* differentRows(examples: readonly Example[], most: number, seed: number): Steps<readonly number[]> {
  const first = new Map<string, number>();
  for (const [row, example] of examples.entries()) {
    yield;
    const key = `${foldedTexts(example)}\n${answerOf(example)}`;
    if (!first.has(key)) first.set(key, row);
  }
  const all = [...first.values()];
  if (all.length <= most) return all;
  return Random.fromSeed(seed)
    .shuffle(all)
    .slice(0, most)
    .sort((a, b) => a - b);
}

/** Of pairs of labels, one given and the other suggested instead. */
function confusionsIn(doubtful: readonly DoubtfulLabels[]): ConfusedLabels[] {
  const counts = new Map<string, { labels: readonly [string, string]; rows: number }>();
  for (const { given, suggested } of doubtful) {
    const [dropped, added] = [
      given.filter((each) => !suggested.includes(each)),
      suggested.filter((each) => !given.includes(each)),
    ];
    for (const one of dropped) {
      for (const other of added) {
        const labels = one < other ? ([one, other] as const) : ([other, one] as const);
        const key = JSON.stringify(labels);
        counts.set(key, { labels, rows: (counts.get(key)?.rows ?? 0) + 1 });
      }
    }
  }
  return [...counts.values()].sort((a, b) => b.rows - a.rows);
}
