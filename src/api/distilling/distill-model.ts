import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { AbortedError, familyNameOf, MAX_QUERY_CHARACTERS, type ModelType, validate } from '../../contract/index.js';
import {
  arePairs,
  type CheckedRows,
  counted,
  type EntityRow,
  invalid,
  quoted,
  type RowsOrPath,
  type RowTable,
  type SoftLabelRow,
  someOf,
  type TrainingRow,
} from '../../datasets/index.js';
import { foldText, sentenceWithEntities } from '../../families/index.js';
import { CARD_FILE, claimFolder } from '../../models/index.js';
import { embed } from '../../search/index.js';
import {
  filterWithPauses,
  isPauseDue,
  mapWithPauses,
  pause,
  Random,
  requirePath,
  withPauses,
} from '../../system/index.js';
import { trainingLanguage } from '../../training/index.js';
import type { Answer } from '../answers.js';
import type {
  DistillationSummary,
  DistillEvent,
  DistilledModel,
  DistillOptions,
  ModelCost,
  Teacher,
} from '../distill.js';
import { answersTo, type Evaluation, type Example, examplesOf, judge } from '../evaluate.js';
import type { Model } from '../model.js';
import { MODEL_FOLDER, OpenModel } from '../open-model.js';
import { centralTexts } from '../suggest-texts.js';
import type { TrainOptions } from '../train.js';
import { readingOf, typeOfRows } from '../training/prepare-dataset.js';
import { readTable, readUnlabelled } from '../training/read-apart.js';
import { trainAndOpen, trainModel } from '../training/train-model.js';
import { callback, trainSchema, trainSettings } from '../training/train-options.js';
import { agreementOf, asAnswer, bestPassage, MOST_CHARACTERS } from './agreement.js';
import { type AnswersFile, answersInMemory, withAnswersFile } from './answers-file.js';
import { type Answered, type AskedText, askTeacher, type TaughtText } from './ask-teacher.js';
import type { AnswerRules } from './teacher-answers.js';
import { bytesToAnswer, candidatesFor, type OpenTeacher, openTeacher, timeOf } from './teachers.js';

/** The work of `distill`: asks the teacher, trains the student on its answers, and compares the two. */

const MOST_TEXTS = 1_000_000;

const distillSchema = z.lazy(() =>
  trainSchema
    .omit({ path: true, url: true, dev: true, devFraction: true, onProgress: true, labels: true, rows: true })
    .extend({
      teacher: z.custom<Teacher>(isTeacher, 'give a model, a folder, a name, an array of these, or a function'),
      texts: z.custom<DistillOptions['texts']>(
        (value) => (typeof value === 'string' && value !== '') || isQueries(value),
        'give an array or an iterable of texts, or the path of a file of texts',
      ),
      rows: z
        .custom<RowsOrPath>(
          (value) => (typeof value === 'string' && value !== '') || isQueries(value),
          'give rows, or the path of a file',
        )
        .optional(),
      labels: z.array(z.string().min(1)).min(1).optional(),
      maxTexts: z.int().min(1).optional(),
      choose: z.enum(['random', 'central']).optional(),
      temperature: z.number().positive().max(100).optional(),
      answers: z.string().min(1, 'the path is empty').optional(),
      teacherName: z.string().min(1, 'the name is empty').optional(),
      concurrency: z.int().min(1).max(1000).optional(),
      textsPerCall: z.int().min(1).max(10_000).optional(),
      attempts: z.int().min(1).max(100).optional(),
      retryDelayMs: z.int().min(0).optional(),
      callTimeoutMs: z
        .int()
        .min(1)
        .max(2 ** 31 - 1)
        .optional(),
      curve: z.boolean().default(false),
      onProgress: callback<(event: DistillEvent) => void>().optional(),
    }),
);
type Settings = z.infer<typeof distillSchema>;

function isQueries(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (Symbol.iterator in value || Symbol.asyncIterator in value);
}

function isTeacher(value: unknown): boolean {
  if (Array.isArray(value))
    return value.length > 0 && value.every((each) => typeof each !== 'function' && isTeacher(each));
  if (typeof value === 'string') return value !== '';
  return typeof value === 'function' || (typeof value === 'object' && value !== null && 'predict' in value);
}

/** @throws as `distill` fails */
export async function distillModel(options: DistillOptions): Promise<DistilledModel> {
  const startedAt = performance.now();
  const settings = validate(distillSchema, options ?? {});
  const { output, signal, teacher } = settings;
  const isFunction = typeof teacher === 'function';
  const answers = settings.answers ?? (output === undefined ? undefined : `${output}.answers.jsonl`);
  if (isFunction && answers === undefined) {
    throw invalid(
      ['answers'],
      'answers of a function may have cost something; give output or answers, so that they are kept',
    );
  }
  const { attempts, retryDelayMs, callTimeoutMs } = settings;
  for (const [name, value] of Object.entries({ attempts, retryDelayMs, callTimeoutMs })) {
    if (value !== undefined && !isFunction)
      throw invalid([name], 'it is for a function; a model either answers or fails');
  }
  requireUsed(settings);
  if (signal?.aborted) throw new AbortedError('the distillation', { cause: signal.reason });
  const path = answers === undefined ? undefined : requirePath(answers, 'answers');
  const work = () => new Distillation(settings, path, startedAt).run();
  return output === undefined ? work() : claimFolder(output, MODEL_FOLDER, 'output', work);
}

/** @throws ValidationError for an option that would be ignored without a word */
function requireUsed(settings: Settings): void {
  const { rows, test, choose, maxTexts } = settings;
  if (choose !== undefined && maxTexts === undefined) {
    throw invalid(['choose'], 'without maxTexts, all texts are asked; give maxTexts, too, or leave choose out');
  }
  if (rows !== undefined || test !== undefined) return;
  for (const [name, value] of Object.entries(readingSettings(settings))) {
    if (value !== undefined) throw invalid([name], `it says how rows are read, and there are none; leave ${name} out`);
  }
}

/** What the student is to be. */
interface Task {
  readonly type: ModelType;
  /** Of classifiers, in the order of their ids. Undefined where the answers have to show them. */
  readonly labels: readonly string[] | undefined;
  readonly rules: AnswerRules;
  readonly isMultilabel: boolean;
  readonly passages: readonly string[] | undefined;
}

/** What the teacher has answered. */
interface Gathered {
  readonly task: Task;
  /** Different texts that were given. */
  readonly given: number;
  /** How many of them are texts of labelled rows, and left out. */
  readonly areRows: number;
  readonly answered: Answered;
  /** Of texts, without those for figures. */
  readonly taught: readonly TaughtText[];
  readonly learnedRows: readonly TrainingRow[];
  /** Labelled rows for figures, and the teacher's answers to them. */
  readonly judged: readonly { readonly example: Example; readonly taught: TaughtText | undefined }[];
  readonly testRows: readonly TrainingRow[] | undefined;
}

class Distillation {
  readonly #settings: Settings;
  readonly #answersPath: string | undefined;
  readonly #startedAt: number;

  constructor(settings: Settings, answersPath: string | undefined, startedAt: number) {
    this.#settings = settings;
    this.#answersPath = answersPath;
    this.#startedAt = startedAt;
  }

  async run(): Promise<DistilledModel> {
    const { teacher: given, modelLoader, teacherName, signal, rows, test } = this.#settings;
    const texts = await textsOf(this.#settings);
    const table = rows === undefined ? undefined : await this.#table(rows, 'rows');
    const testTable = test === undefined ? undefined : await this.#table(test, 'test');
    const passages = passagesOf(this.#settings, table);
    const teacher = await openTeacher(given, { modelLoader, teacherName, passages, signal });
    try {
      const task = taskOf(teacher, passages, table, this.#settings);
      const gather = (file: AnswersFile) => this.#gather(teacher, task, { texts, table, testTable }, file);
      const path = this.#answersPath;
      const gathered = path === undefined ? await gather(answersInMemory()) : await withAnswersFile(path, gather);
      return await this.#train(teacher, gathered);
    } finally {
      await teacher.close();
    }
  }

  #table(rows: RowsOrPath, option: string): Promise<RowTable> {
    const { signal, type, ...settings } = this.#settings;
    const path = typeof settings.rows === 'string' ? settings.rows : undefined;
    const reading = readingOf(rows, {
      ...readingSettings(settings),
      path,
      ...(typeof settings.test === 'string' && { test: settings.test }),
    });
    const isMultilabel = type === undefined ? undefined : type === 'multilabel-text-classification';
    return readTable({ rows, option, reading, signal, ...(isMultilabel !== undefined && { isMultilabel }) });
  }

  async #gather(
    teacher: OpenTeacher,
    task: Task,
    {
      texts,
      table,
      testTable,
    }: {
      readonly texts: readonly string[];
      readonly table: RowTable | undefined;
      readonly testTable: RowTable | undefined;
    },
    file: AnswersFile,
  ): Promise<Gathered> {
    const { seed, maxTexts, signal, language } = this.#settings;
    const rows = table === undefined ? [] : await rowsFor(task, table, signal);
    const testRows = testTable && (await rowsFor(task, testTable, signal));
    const { judged: setAside, learned: learnedRows } =
      testRows === undefined ? divided(rows, seed) : { judged: testRows, learned: rows };
    const examples = await examplesOf(checkedRows(task, setAside), signal, task.isMultilabel);
    const most = maxTexts === undefined ? examples.length : Math.floor(maxTexts / 2);
    const judged = examples.slice(0, most);
    const known = new Set([...rows, ...(testRows ?? [])].map((row) => foldText(textOf(row))));
    const fresh = await filterWithPauses(texts, (text) => !known.has(foldText(text)), signal);
    const wanted = maxTexts === undefined ? fresh.length : maxTexts - judged.length;
    const chosen = await chosenTexts(fresh, wanted, this.#settings);
    const questions = [...judged.map(({ text }) => text), ...chosen];
    const candidates =
      task.passages &&
      (await candidatesFor(questions, task.passages, trainingLanguage({ language }) === 'english', signal));
    const asked = questions.map(
      (text, at): AskedText => ({ text, ...(candidates && { candidates: candidates[at] ?? [] }) }),
    );
    const answered = await askTeacher(teacher, asked, task.rules, file, this.#askOptions(teacher));
    const byText = new Map(answered.taught.map((each) => [each.text, each]));
    return {
      task,
      given: texts.length,
      areRows: texts.length - fresh.length,
      answered,
      taught: chosen.flatMap((text) => byText.get(text) ?? []),
      learnedRows,
      judged: judged.map((example) => ({ example, taught: byText.get(example.text) })),
      testRows,
    };
  }

  #askOptions({ mayFail }: OpenTeacher) {
    const { concurrency = mayFail ? 4 : 1, textsPerCall = mayFail ? 8 : 64, signal, onProgress } = this.#settings;
    const { attempts = 6, retryDelayMs = 1000, callTimeoutMs = 600_000 } = this.#settings;
    return {
      ...{ concurrency, textsPerCall, attempts, retryDelayMs, callTimeoutMs: mayFail ? callTimeoutMs : 2 ** 31 - 1 },
      signal,
      onProgress: (event: DistillEvent) => onProgress?.(event),
    };
  }

  async #train(teacher: OpenTeacher, gathered: Gathered): Promise<DistilledModel> {
    const { seed, temperature = 1, curve, output } = this.#settings;
    const { task, taught, learnedRows, testRows } = gathered;
    const { heldOut, dev, train } = splitTexts(taught, seed, temperature);
    const rows = [...learnedRows, ...train.map((each) => taughtRow(each, task, temperature))];
    requireSome(rows, gathered);
    const options: TrainOptions = {
      ...this.#trainOptions(task, gathered),
      rows,
      ...(dev.length > 0 && { dev: dev.map((each) => taughtRow(each, task)) }),
      ...(testRows && { test: testRows }),
      ...(output !== undefined && { output }),
    };
    const points = curve ? await this.#curve(options, { train, heldOut, learnedRows }, task) : undefined;
    let distillation: DistillationSummary | undefined;
    const finish = async (directory: string) => {
      distillation = await this.#measure(directory, teacher, gathered, { heldOut, learned: train.length + dev.length });
      if (points && distillation.agreement) {
        const { labels: _, ...agreement } = distillation.agreement;
        distillation = { ...distillation, curve: [...points, { texts: train.length, agreement }] };
      }
      await writeFile(join(directory, DISTILLATION_FILE), `${JSON.stringify(distillation, undefined, 2)}\n`);
      const card = join(directory, CARD_FILE);
      await writeFile(card, `${await readFile(card, 'utf8')}\n${cardSection(distillation)}`);
    };
    const model = await trainAndOpen(options, trainSettings(options), { startedAt: this.#startedAt, finish });
    if (distillation === undefined) throw new TypeError('the student was not measured');
    return Object.assign(model, { distillation });
  }

  #trainOptions({ type, labels, passages }: Task, { taught, learnedRows }: Gathered): Omit<TrainOptions, 'rows'> {
    const { teacher, texts, rows, answers, teacherName, concurrency, textsPerCall, attempts, ...more } = this.#settings;
    const { retryDelayMs, callTimeoutMs, curve, temperature, maxTexts, choose, test, output, ...training } = more;
    const { columns, format, encoding, delimiter, offsets, tagNames, skipInvalid, ...kept } = training;
    const isClassifier = familyNameOf[type] === 'Papaya';
    return {
      ...kept,
      type,
      passages,
      ...(isClassifier && { labels: labels ?? labelsIn(taught, learnedRows) }),
    };
  }

  async #curve(
    options: TrainOptions,
    {
      train,
      heldOut,
      learnedRows,
    }: {
      readonly train: readonly TaughtText[];
      readonly heldOut: readonly TaughtText[];
      readonly learnedRows: readonly TrainingRow[];
    },
    task: Task,
  ): Promise<NonNullable<DistillationSummary['curve']>> {
    const { seed, temperature = 1 } = this.#settings;
    if (heldOut.length === 0) return [];
    const ranks = await ranked(train, ({ text }) => text, `curve ${seed}`);
    const points: {
      texts: number;
      agreement: { share: number; interval: { low: number; high: number }; of: number };
    }[] = [];
    for (const part of [1 / 8, 1 / 4, 1 / 2]) {
      const count = Math.floor(train.length * part);
      if (count < 10) continue;
      const some = new Set(ranks.slice(0, count));
      const rows = [
        ...learnedRows,
        ...train.filter((each) => some.has(each)).map((each) => taughtRow(each, task, temperature)),
      ];
      const { output: _, test: __, ...rest } = options;
      await using model = await trainModel({ ...rest, rows });
      const answers = await answersTo(
        model,
        heldOut.map(({ text }) => text),
        { signal: this.#settings.signal },
      );
      const { labels: ___, ...agreement } = agreementOf(heldOut, answers, task.isMultilabel).agreement;
      points.push({ texts: count, agreement });
    }
    return points;
  }

  async #measure(
    directory: string,
    teacher: OpenTeacher,
    { task, given, answered, learnedRows, judged }: Gathered,
    { heldOut, learned }: { readonly heldOut: readonly TaughtText[]; readonly learned: number },
  ): Promise<DistillationSummary> {
    const { device, signal } = this.#settings;
    await using model = await OpenModel.open({ name: 'student', directory }, { service: { device }, signal });
    const texts = heldOut.map(({ text }) => text);
    const answers = await answersTo(model, texts, { signal });
    const { unusable } = answered;
    const timed = texts.length > 0 ? texts : judged.map(({ example }) => example.text);
    const student: ModelCost = { bytes: await bytesToAnswer(directory), ...(await timeOf(model, timed)) };
    const { millisecondsPerText } = answered;
    const measured = (await teacher.cost?.(timed)) ?? {};
    const accuracy = await this.#accuracy(model, task, judged);
    return {
      teacher: teacher.name,
      texts: given,
      answered: answered.taught.length + unusable.length,
      kept: answered.kept,
      retries: answered.retries,
      unusable: {
        count: unusable.length,
        examples: unusable.slice(0, 10).map(({ text, problem }) => ({ text: text.slice(0, MOST_CHARACTERS), problem })),
      },
      ...(this.#answersPath !== undefined && { answers: this.#answersPath }),
      learned: { texts: learned, rows: learnedRows.length },
      ...(heldOut.length > 0 ? agreementOf(heldOut, answers, task.isMultilabel) : { differences: [] }),
      ...(accuracy && { accuracy }),
      cost: { teacher: { ...(millisecondsPerText !== undefined && { millisecondsPerText }), ...measured }, student },
    };
  }

  async #accuracy(model: Model, task: Task, judged: Gathered['judged']): Promise<DistillationSummary['accuracy']> {
    const { seed, signal } = this.#settings;
    const both = judged.flatMap(({ example, taught }) => (taught ? [{ example, taught }] : []));
    if (both.length === 0) return undefined;
    const examples = both.map(({ example }) => example);
    const answers = await answersTo(
      model,
      examples.map(({ text }) => text),
      { signal },
    );
    const figures = async (given: readonly Answer[]) =>
      mainFigure(await withPauses(judge(model, examples, given, { resamples: 1000, seed }), signal));
    const teacher = await figures(both.map(({ taught }) => asAnswer(taught, task.isMultilabel)));
    const student = await figures(answers);
    return { rows: both.length, metric: student.metric, teacher: teacher.figure, student: student.figure };
  }
}

export const DISTILLATION_FILE = 'distillation.json';

function mainFigure(evaluation: Evaluation) {
  const figure = (value: number, [low, high]: readonly [number, number]) => ({ value, interval: { low, high } });
  switch (evaluation.kind) {
    case 'labels':
      return { metric: 'accuracy', figure: figure(evaluation.accuracy, evaluation.intervals.accuracy) } as const;
    case 'entities':
      return { metric: 'f1', figure: figure(evaluation.micro.f1, evaluation.intervals.microF1) } as const;
    case 'passages':
      return { metric: 'top1', figure: figure(evaluation.top1, evaluation.intervals.top1) } as const;
  }
}

function readingSettings(settings: Omit<Settings, 'signal' | 'type'>) {
  const { columns, format, encoding, delimiter, offsets, tagNames, skipInvalid } = settings;
  return { columns, format, encoding, delimiter, offsets, tagNames, skipInvalid };
}

/** Different texts, in their order. @throws ValidationError, DatasetError */
async function textsOf({ texts, signal }: Settings): Promise<readonly string[]> {
  const limits = { mostTexts: MOST_TEXTS, mostCharacters: MAX_QUERY_CHARACTERS };
  if (typeof texts === 'string') return readUnlabelled({ rows: texts, ...limits }, { signal });
  const different = new Map<string, string>();
  let position = 0;
  for await (const text of texts) {
    if (typeof text !== 'string') throw invalid(['texts', position], `found ${quoted(text)}; give a text`);
    if (text.length > MAX_QUERY_CHARACTERS) {
      throw invalid(
        ['texts', position],
        `it has ${text.length.toLocaleString('en-US')} UTF-16 code units; at most ${MAX_QUERY_CHARACTERS.toLocaleString('en-US')} are read`,
      );
    }
    position += 1;
    const key = foldText(text);
    if (key !== '' && !different.has(key)) different.set(key, text);
    if (different.size > MOST_TEXTS)
      throw invalid(
        ['texts'],
        `there are more than ${MOST_TEXTS.toLocaleString('en-US')} different texts; give a sample of them`,
      );
    if (isPauseDue()) await pause(signal);
  }
  if (different.size === 0) throw invalid(['texts'], 'there is no text that is not blank');
  return [...different.values()];
}

/** Undefined unless the student is to answer questions. @throws ValidationError if passages are missing */
function passagesOf({ passages, type }: Settings, table: RowTable | undefined): readonly string[] | undefined {
  const shape = table?.checked.shape;
  const isRetrieval =
    passages !== undefined || type === 'question-answering' || shape === 'passage' || shape === 'passages';
  if (!isRetrieval) return undefined;
  const all = [...new Set(passages ?? [])];
  if (all.length < 2)
    throw invalid(
      ['passages'],
      `found ${counted(all.length, 'passage')}; give the passages that questions are answered from, at least two`,
    );
  return all;
}

/** @throws ValidationError if teacher, rows and options don't agree on what the student is to do */
function taskOf(
  teacher: OpenTeacher,
  passages: readonly string[] | undefined,
  table: RowTable | undefined,
  { type: given, labels: named, temperature }: Settings,
): Task {
  if (table && arePairs(table.checked))
    throw invalid(['rows'], 'they are pairs of texts, and texts are single ones; leave text2 out');
  const found = typeFor(teacher, passages, table, given, named);
  const type = given ?? found;
  const family = familyNameOf[type];
  // Two types name the same task, of entities.
  if (type !== found && !(family === 'Grapefruit' && familyNameOf[found] === family)) {
    throw invalid(
      ['type'],
      `the student is for ${found}, as its teacher and the other options say, not for ${type}; leave type out`,
    );
  }
  if (temperature !== undefined && family !== 'Papaya') {
    throw invalid(
      ['temperature'],
      `it softens the probabilities of labels, and the student is for ${type}; leave temperature out`,
    );
  }
  if (named !== undefined && family !== 'Papaya')
    throw invalid(['labels'], `labels are for classifiers, not for ${type}`);
  const isMultilabel = type === 'multilabel-text-classification';
  const kind = family === 'Papaya' ? 'labels' : family === 'Grapefruit' ? 'entities' : 'passages';
  const ofTeacher = teacher.says?.labels;
  const ofRows = table && namesIn(table.checked);
  const labels = named ?? ofTeacher ?? ofRows;
  const stranger =
    kind === 'passages'
      ? undefined
      : [...(ofTeacher ?? []), ...(ofRows ?? [])].find((label) => labels?.includes(label) === false);
  if (stranger !== undefined && kind === 'labels') {
    const whose = ofRows?.includes(stranger) === true ? 'rows have' : `${teacher.name} has`;
    throw invalid(
      [ofRows?.includes(stranger) === true ? 'rows' : 'labels'],
      `${whose} the label ${quoted(stranger)}; the labels are ${someOf((labels ?? []).map(quoted))}`,
    );
  }
  const known = kind === 'labels' ? labels : kind === 'entities' ? ofTeacher : undefined;
  return {
    type,
    labels: kind === 'labels' ? labels : undefined,
    rules: { kind, isMultilabel, labels: known && new Set(known) },
    isMultilabel,
    passages,
  };
}

function typeFor(
  teacher: OpenTeacher,
  passages: readonly string[] | undefined,
  table: RowTable | undefined,
  given: ModelType | undefined,
  labels: readonly string[] | undefined,
): ModelType {
  if (passages !== undefined) return 'question-answering';
  if (teacher.says !== undefined) return teacher.says.type;
  if (given !== undefined) return given;
  if (table !== undefined) return typeOfRows(table, undefined).type;
  if (labels !== undefined)
    return labels.length === 2 ? 'binary-text-classification' : 'multiclass-text-classification';
  throw invalid(['type'], 'a function does not say what its answers are; give type, or labels, rows or passages');
}

function namesIn(checked: CheckedRows): readonly string[] | undefined {
  switch (checked.shape) {
    case 'label':
      return [...new Set(checked.rows.map(({ label }) => label))].sort();
    case 'labels':
      return [...new Set(checked.rows.flatMap(({ labels }) => labels))].sort();
    case 'soft':
      return [...new Set(checked.rows.flatMap(({ labels }) => Object.keys(labels)))].sort();
    default:
      return undefined;
  }
}

/** Rows in the one shape that the student learns from. @throws ValidationError for rows of another kind */
async function rowsFor(
  task: Task,
  { checked, origin }: RowTable,
  signal: AbortSignal | undefined,
): Promise<readonly TrainingRow[]> {
  const { kind, isMultilabel } = task.rules;
  const each = <Row>(rows: readonly Row[], rowOf: (row: Row) => TrainingRow) => mapWithPauses(rows, rowOf, signal);
  const none = task.labels?.[0] ?? '';
  switch (checked.shape) {
    case 'label':
      if (kind === 'labels') return each(checked.rows, ({ label, ...row }) => ({ ...row, labels: { [label]: 1 } }));
      break;
    case 'labels':
      if (kind === 'labels' && isMultilabel) {
        return each(checked.rows, ({ labels, ...row }) => ({
          ...row,
          // A row of probabilities names at least one label.
          labels: labels.length === 0 ? { [none]: 0 } : Object.fromEntries(labels.map((label) => [label, 1])),
        }));
      }
      break;
    case 'soft':
      if (kind === 'labels') return checked.rows;
      break;
    case 'tags':
      if (kind === 'entities') return each(checked.rows, sentenceWithEntities);
      break;
    case 'entities':
      if (kind === 'entities') return checked.rows;
      break;
    case 'passage':
      if (kind === 'passages')
        return each(checked.rows, ({ question, passage }) => ({ question, passages: [passage] }));
      break;
    case 'passages':
      if (kind === 'passages') return checked.rows;
  }
  throw invalid(['rows'], `${origin} has rows of another kind than the teacher's answers, which are for ${task.type}`);
}

/** Rows of {@link rowsFor}, by their shape. */
function checkedRows({ rules }: Task, rows: readonly TrainingRow[]): CheckedRows {
  if (rules.kind === 'labels') return { shape: 'soft', rows: rows.filter(isSoft) };
  if (rules.kind === 'entities') return { shape: 'entities', rows: rows.filter(isEntityRow) };
  return { shape: 'passages', rows: rows.flatMap((row) => ('question' in row && 'passages' in row ? [row] : [])) };
}

const isSoft = (row: TrainingRow): row is SoftLabelRow => 'labels' in row && !Array.isArray(row.labels);
const isEntityRow = (row: TrainingRow): row is EntityRow => 'entities' in row;

function textOf(row: TrainingRow): string {
  if ('question' in row) return row.question;
  return 'text' in row ? row.text : row.tokens.join(' ');
}

const JUDGED_SHARE = 0.1;
const MOST_JUDGED = 500;

/** Sets rows aside for figures, by the hash of their texts: so the same ones, whatever else there is. */
function divided(rows: readonly TrainingRow[], seed: number) {
  const count = Math.min(MOST_JUDGED, Math.floor(rows.length * JUDGED_SHARE));
  const judged = new Set(byHash(rows, textOf, `rows ${seed}`).slice(0, count));
  return { judged: [...judged], learned: rows.filter((row) => !judged.has(row)) };
}

/** As many texts as are wanted, in the order in which they were given. */
async function chosenTexts(texts: readonly string[], count: number, settings: Settings): Promise<readonly string[]> {
  if (texts.length <= count) return texts;
  const { seed, choose, signal } = settings;
  const order = await ranked(texts, (text) => text, `texts ${seed}`);
  if (choose !== 'central') {
    const some = new Set(order.slice(0, count));
    return texts.filter((text) => some.has(text));
  }
  const compared = order.slice(0, Math.max(MOST_COMPARED, 2 * count));
  const vectors = await vectorsOf(compared, settings);
  const evenly = compared.map(() => 1);
  const central = await withPauses(centralTexts(vectors, evenly, count, Random.fromSeed(seed)), signal);
  const some = new Set(central.map((at) => compared[at]));
  return texts.filter((text) => some.has(text));
}

/** Each takes a vector in memory. */
const MOST_COMPARED = 20_000;

/** By the encoder that the student starts from. */
async function vectorsOf(texts: readonly string[], { base, language, modelLoader, signal }: Settings) {
  const model = base ?? (trainingLanguage({ language }) === 'english' ? 'english-mini' : undefined);
  if (model === undefined)
    throw invalid(['choose'], `central texts are found by an encoder's vectors; give base, an encoder for ${language}`);
  const vectors = await embed(texts, { model, signal, ...(modelLoader && { modelLoader }) });
  if (vectors.isErr()) throw vectors.error;
  return vectors.value;
}

function rankOf(text: string, salt: string): number {
  return createHash('sha256').update(`${salt}\0${text}`).digest().readUIntBE(0, 6);
}

/** In an order that looks random, which depends on each text alone: of more texts, the first ones stay in their order. */
function byHash<Item>(items: readonly Item[], textOf: (item: Item) => string, salt: string): Item[] {
  const keyed = items.map((item) => ({ item, rank: rankOf(textOf(item), salt) }));
  return keyed.sort((a, b) => a.rank - b.rank).map(({ item }) => item);
}

/** The same with pauses. */
async function ranked<Item>(items: readonly Item[], textOf: (item: Item) => string, salt: string): Promise<Item[]> {
  const keyed = await mapWithPauses(items, (item) => ({ item, rank: rankOf(textOf(item), salt) }));
  return keyed.sort((a, b) => a.rank - b.rank).map(({ item }) => item);
}

/** The share of texts that measure, and as many that choose the best epoch; each at most so many. */
const HELD_OUT = 0.1;
const MOST_HELD_OUT = 1000;
/** Fewer texts with an answer than this can't measure anything. */
const FEWEST_MEASURED = 20;
/** Below, `train` learns from all rows, and judges them in folds. */
const FEWEST_WITH_DEV = 1000;

function splitTexts(taught: readonly TaughtText[], seed: number, temperature: number) {
  const part = Math.min(MOST_HELD_OUT, Math.floor(taught.length * HELD_OUT));
  const heldOutCount = taught.length < FEWEST_MEASURED ? 0 : part;
  // Softened texts can't show how sure the student should be, so dev has the teacher's own probabilities.
  const needsDev = taught.length >= FEWEST_WITH_DEV || (temperature !== 1 && heldOutCount > 0);
  const order = byHash(taught, ({ text }) => text, `split ${seed}`);
  const heldOut = new Set(order.slice(0, heldOutCount));
  const dev = new Set(needsDev ? order.slice(heldOutCount, heldOutCount + part) : []);
  return {
    heldOut: taught.filter((each) => heldOut.has(each)),
    dev: taught.filter((each) => dev.has(each)),
    train: taught.filter((each) => !heldOut.has(each) && !dev.has(each)),
  };
}

function taughtRow(
  { text, taught, candidates = [] }: TaughtText,
  { isMultilabel, labels }: Task,
  temperature = 1,
): TrainingRow {
  switch (taught.kind) {
    case 'labels': {
      const shares = temperature === 1 ? taught.shares : softened(taught.shares, temperature, isMultilabel);
      // A row of probabilities names at least one label.
      const [first] = labels ?? [];
      return { text, labels: Object.keys(shares).length > 0 || first === undefined ? shares : { [first]: 0 } };
    }
    case 'entities':
      return { text, entities: taught.entities };
    case 'passages':
      return { question: text, passages: [bestPassage(taught.scores, candidates)] };
  }
}

/**
 * p^(1/T), brought to a sum of 1: softmax(z / T) of the logits z that p is the softmax of (Hinton et al. 2015, eq. 1). Of
 * several labels, the same for each label and its absence: the sigmoid of z / T.
 */
function softened(
  shares: Readonly<Record<string, number>>,
  temperature: number,
  isMultilabel: boolean,
): Record<string, number> {
  const power = (share: number) => share ** (1 / temperature);
  const all = Object.entries(shares);
  const sum = all.reduce((total, [, share]) => total + power(share), 0);
  const sumFor = (share: number) => (isMultilabel ? power(share) + power(1 - share) : sum);
  return Object.fromEntries(all.map(([label, share]) => [label, power(share) / sumFor(share)]));
}

function labelsIn(taught: readonly TaughtText[], rows: readonly TrainingRow[]): string[] {
  const ofTexts = taught.flatMap((each) => (each.taught.kind === 'labels' ? Object.keys(each.taught.shares) : []));
  return [...new Set([...ofTexts, ...rows.filter(isSoft).flatMap(({ labels }) => Object.keys(labels))])].sort();
}

/** @throws ValidationError if there is next to nothing to learn from */
function requireSome(rows: readonly TrainingRow[], { answered: { unusable }, taught, given, areRows }: Gathered): void {
  if (rows.length >= 2) return;
  const [first] = unusable;
  const why = [
    ...(areRows > 0 ? [`${areRows} are texts of rows or test`] : []),
    ...(first
      ? [
          `${unusable.length} have an answer that makes no sense, such as ${quoted(first.text.slice(0, 60))}: ${first.problem}`,
        ]
      : []),
  ];
  const msg = `${taught.length} of ${counted(given, 'text')} can be learned from`;
  throw invalid(['texts'], why.length === 0 ? `${msg}; give at least two` : `${msg}; ${why.join(', and ')}`);
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** For the model card, in Markdown. */
function cardSection({ teacher, learned, agreement, accuracy, unusable }: DistillationSummary): string {
  const lines = [
    '## Teacher',
    '',
    `It learned from the answers of ${teacher} to ${counted(learned.texts, 'text')}${learned.rows > 0 ? `, and from ${counted(learned.rows, 'labelled row')}` : ''}.`,
  ];
  if (unusable.count > 0)
    lines.push(
      `${counted(unusable.count, 'answer')} made no sense and ${unusable.count === 1 ? 'was' : 'were'} left out.`,
    );
  if (agreement) {
    const { share, interval, of } = agreement;
    lines.push(
      `On ${counted(of, 'text')} that it did not learn from, it agrees with its teacher on ${percent(share)} (95 % interval ${percent(interval.low)} to ${percent(interval.high)}).`,
    );
  }
  if (accuracy) {
    lines.push(
      `On ${counted(accuracy.rows, 'labelled row')}, ${accuracy.metric} is ${percent(accuracy.student.value)}; its teacher's is ${percent(accuracy.teacher.value)}.`,
    );
  }
  return `${lines.join('\n')}\n`;
}
