import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AbortedError, familyNameOf, type ModelType, requireOptions, validate } from '../../contract/index.js';
import {
  counted,
  type DatasetWarning,
  invalid,
  quoted,
  type RowsOrPath,
  type RowTable,
  requireUsedReading,
  type TagDoubt,
  type TrainingRow,
} from '../../datasets/index.js';
import { foldText } from '../../families/index.js';
import { CARD_FILE, claimFolder } from '../../models/index.js';
import { filterWithPauses, isInFolder, requirePath, withPauses } from '../../system/index.js';
import { trainingLanguage } from '../../training/index.js';
import type { Answer } from '../answers.js';
import type { DistillationSummary, DistillEvent, DistilledModel, DistillOptions, ModelCost } from '../distill.js';
import { answersTo, type Evaluation, type Example, examplesOf, judge } from '../evaluate.js';
import type { Model } from '../model.js';
import { MODEL_FOLDER, OpenModel } from '../open-model.js';
import { requireNotRead } from '../paths.js';
import type { TrainOptions } from '../train.js';
import { readingOf } from '../training/prepare-dataset.js';
import { readTable } from '../training/read-apart.js';
import { trainAndOpen, trainModel } from '../training/train-model.js';
import { trainSettings } from '../training/train-options.js';
import { agreementOf, asAnswer, bestPassage, MOST_CHARACTERS } from './agreement.js';
import { type AnswersFile, answersInMemory, withAnswersFile } from './answers-file.js';
import { type Answered, type AskedText, askTeacher, type TaughtText } from './ask-teacher.js';
import { type DistillSettings, distillSchema, readingSettings, requireUsed } from './distill-options.js';
import { chosenTexts, divided, ranked, splitTaught, textsOf } from './distill-texts.js';
import { checkedRows, isSoft, passagesOf, rowsFor, type StudentTask, taskOf, textOf } from './student-task.js';
import { bytesToAnswer, candidatesFor, type OpenTeacher, openTeacher, timeOf } from './teachers.js';

/** The work of `distill`: asks the teacher, trains the student on its answers, and compares the two. */

/** @throws as `distill` fails */
export async function distillModel(options: DistillOptions): Promise<DistilledModel> {
  const startedAt = performance.now();
  const settings = validate(distillSchema, requireOptions(options ?? {}, '`distill({ teacher, texts })`'));
  const { output, signal, teacher } = settings;
  const isFunction = typeof teacher === 'function';
  const answers = settings.answers ?? (output === undefined ? undefined : `${output}.answers.jsonl`);
  if (isFunction && answers === undefined) {
    throw invalid(
      ['answers'],
      'the answers of a function may cost money; give `output` or `answers` so that they are kept',
    );
  }
  const { attempts, retryDelayMs, callTimeoutMs } = settings;
  for (const [name, value] of Object.entries({ attempts, retryDelayMs, callTimeoutMs })) {
    if (value !== undefined && !isFunction)
      throw invalid([name], 'does not apply to a teacher that is a model; leave it out');
  }
  requireUsed(settings);
  if (signal?.aborted) throw new AbortedError('the distillation', { cause: signal.reason });
  const path = answers === undefined ? undefined : requirePath(answers, 'answers');
  if (output !== undefined && path !== undefined && (await isInFolder(path, output))) {
    throw invalid(['answers'], `${path} is in the output folder ${output}, which is replaced; give a path outside it`);
  }
  const { texts, rows, dev, test } = settings;
  await requireNotRead(output, { inputs: [texts, rows, dev, test], models: modelsOf(settings) });
  const work = () => new Distillation(settings, path, startedAt).run();
  return output === undefined ? work() : claimFolder(output, MODEL_FOLDER, 'output', work);
}

/** The folders or names of the models that are read. */
function modelsOf({ base, teacher }: DistillSettings): readonly (string | undefined)[] {
  const folders = [teacher].flat().map((each) => {
    if (typeof each === 'function') return undefined;
    return typeof each === 'string' ? each : each.directory;
  });
  return [base, ...folders];
}

/** What the teacher has answered. */
interface Gathered {
  readonly task: StudentTask;
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
  readonly devRows: readonly TrainingRow[] | undefined;
  readonly testRows: readonly TrainingRow[] | undefined;
  /** About labelled rows. */
  readonly warnings: readonly DatasetWarning[];
}

/** Labelled rows that were given, in the student's shape. */
interface LabelledRows extends Pick<Gathered, 'devRows' | 'testRows' | 'warnings'> {
  readonly rows: readonly TrainingRow[];
}

class Distillation {
  readonly #settings: DistillSettings;
  readonly #answersPath: string | undefined;
  readonly #startedAt: number;

  constructor(settings: DistillSettings, answersPath: string | undefined, startedAt: number) {
    this.#settings = settings;
    this.#answersPath = answersPath;
    this.#startedAt = startedAt;
  }

  async run(): Promise<DistilledModel> {
    const { teacher: given, modelLoader, device, teacherName, signal, rows, type } = this.#settings;
    const texts = await textsOf(this.#settings);
    const passages = passagesOf(this.#settings);
    const teacher = await openTeacher(given, { modelLoader, device, teacherName, passages, signal });
    try {
      const table = rows === undefined ? undefined : await this.#table(rows, 'rows', type ?? teacher.says?.type);
      const task = taskOf(teacher, passages, table, this.#settings);
      const labelled = await this.#labelled(task, table);
      const gather = (file: AnswersFile) => this.#gather(teacher, task, { texts, ...labelled }, file);
      const path = this.#answersPath;
      const gathered = path === undefined ? await gather(answersInMemory()) : await withAnswersFile(path, gather);
      return await this.#train(teacher, gathered);
    } finally {
      await teacher.close();
    }
  }

  /** Labelled rows in the student's shape. @throws ValidationError, DatasetError */
  async #labelled(task: StudentTask, table: RowTable | undefined): Promise<LabelledRows> {
    const { dev, test, skipInvalid, signal } = this.#settings;
    const fitting = (given: RowTable, option: 'rows' | 'dev' | 'test') =>
      rowsFor(task, given, { option, skipInvalid, signal });
    const rows = table && (await fitting(table, 'rows'));
    const devTable = dev === undefined ? undefined : await this.#table(dev, 'dev', task.type);
    const forDev = devTable && (await fitting(devTable, 'dev'));
    const testTable = test === undefined ? undefined : await this.#table(test, 'test', task.type);
    const forTest = testTable && (await fitting(testTable, 'test'));
    const tables = [table, devTable, testTable].filter((each) => each !== undefined);
    requireUsedReading(tables, readingSettings(this.#settings));
    return {
      rows: rows?.rows ?? [],
      ...{ devRows: forDev?.rows, testRows: forTest?.rows },
      warnings: [rows, forDev, forTest].flatMap((each) => each?.warnings ?? []),
    };
  }

  #table(rows: RowsOrPath, option: string, type: ModelType | undefined): Promise<RowTable> {
    const { signal, type: _, ...settings } = this.#settings;
    const path = typeof settings.rows === 'string' ? settings.rows : undefined;
    const reading = readingOf(rows, {
      ...readingSettings(settings),
      path,
      ...(typeof settings.dev === 'string' && { dev: settings.dev }),
      ...(typeof settings.test === 'string' && { test: settings.test }),
    });
    const isMultilabel = type === undefined ? undefined : type === 'multilabel-text-classification';
    return readTable({ ...{ rows, option, reading, signal, isMultilabel }, isStrict: true });
  }

  async #gather(
    teacher: OpenTeacher,
    task: StudentTask,
    { texts, rows, devRows, testRows, warnings }: LabelledRows & { readonly texts: readonly string[] },
    file: AnswersFile,
  ): Promise<Gathered> {
    const { seed, maxTexts, signal, language } = this.#settings;
    const { judged: setAside, learned: learnedRows } =
      testRows === undefined ? divided(rows, seed) : { judged: testRows, learned: rows };
    const examples = await examplesOf(checkedRows(task, setAside), signal, task.isMultilabel);
    const most = maxTexts === undefined ? examples.length : Math.floor(maxTexts / 2);
    const judged = examples.slice(0, most);
    const known = new Set([...rows, ...(devRows ?? []), ...(testRows ?? [])].map((row) => foldText(textOf(row))));
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
      ...{ devRows, testRows, warnings },
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
    const { task, taught, learnedRows, devRows, testRows } = gathered;
    const split = splitTaught(taught, learnedRows, { seed, temperature, hasDev: devRows !== undefined });
    const { heldOut, train } = split;
    const dev = devRows ?? [...split.dev.rows, ...split.dev.texts.map((each) => taughtRow(each, task))];
    const rows = [...train.rows, ...train.texts.map((each) => taughtRow(each, task, temperature))];
    requireSome(rows, gathered);
    const options: TrainOptions = {
      ...this.#trainOptions(task, gathered),
      rows,
      ...(dev.length > 0 && { dev }),
      ...(testRows && { test: testRows }),
      ...(output !== undefined && { output }),
    };
    const points = curve ? await this.#curve(options, split, task) : undefined;
    let distillation: DistillationSummary | undefined;
    const finish = async (directory: string) => {
      distillation = await this.#measure(directory, teacher, gathered, {
        heldOut,
        learned: train.texts.length + split.dev.texts.length,
      });
      if (points && distillation.agreement) {
        const { labels: _, ...agreement } = distillation.agreement;
        distillation = { ...distillation, curve: [...points, { texts: train.texts.length, agreement }] };
      }
      await writeFile(join(directory, DISTILLATION_FILE), `${JSON.stringify(distillation, undefined, 2)}\n`);
      const card = join(directory, CARD_FILE);
      await writeFile(card, `${await readFile(card, 'utf8')}\n${cardSection(distillation)}`);
    };
    const model = await trainAndOpen(options, trainSettings(options), { startedAt: this.#startedAt, finish });
    if (distillation === undefined) throw new TypeError('the student was not measured');
    const training = { ...model.training, warnings: [...gathered.warnings, ...model.training.warnings] };
    return Object.assign(model, { distillation, training });
  }

  #trainOptions(
    { type, labels, passages }: StudentTask,
    { taught, learnedRows }: Gathered,
  ): Omit<TrainOptions, 'rows'> {
    const { teacher, texts, rows, answers, teacherName, concurrency, textsPerCall, attempts, ...more } = this.#settings;
    const { retryDelayMs, callTimeoutMs, curve, temperature, maxTexts, choose, dev, test, output, ...training } = more;
    const { columns, format, encoding, delimiter, offsets, tagNames, skipInvalid, ...kept } = training;
    const isClassifier = familyNameOf[type] === 'Papaya';
    return {
      ...kept,
      type,
      passages,
      ...(isClassifier && { labels: labels ?? labelsIn(taught, learnedRows) }),
      // Said, so that nothing is guessed from teachers whose entities are parts of words.
      ...(familyNameOf[type] === 'Grapefruit' && { offsets: 'utf-16' as const }),
    };
  }

  async #curve(
    options: TrainOptions,
    { train, heldOut }: ReturnType<typeof splitTaught>,
    task: StudentTask,
  ): Promise<NonNullable<DistillationSummary['curve']>> {
    const { seed, temperature = 1 } = this.#settings;
    if (heldOut.length === 0) return [];
    const ranks = await ranked(train.texts, ({ text }) => text, `curve ${seed}`);
    const points: {
      texts: number;
      agreement: { share: number; interval: { low: number; high: number }; of: number };
    }[] = [];
    for (const part of [1 / 8, 1 / 4, 1 / 2]) {
      const count = Math.floor(train.texts.length * part);
      if (count < 10) continue;
      const some = new Set(ranks.slice(0, count));
      const rows = [
        ...train.rows,
        ...train.texts.filter((each) => some.has(each)).map((each) => taughtRow(each, task, temperature)),
      ];
      const { output: _, test: __, ...rest } = options;
      const model = await trainModel({ ...rest, rows });
      const texts = heldOut.map(({ text }) => text);
      const answers = await answersTo(model, texts, { signal: this.#settings.signal }).finally(() => model.close());
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
    const model = await OpenModel.open({ name: 'student', directory }, { service: { device }, signal });
    try {
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
          examples: unusable
            .slice(0, 10)
            .map(({ text, problem }) => ({ text: text.slice(0, MOST_CHARACTERS), problem })),
        },
        ...(this.#answersPath !== undefined && { answers: this.#answersPath }),
        learned: { texts: learned, rows: learnedRows.length },
        ...(heldOut.length > 0 ? agreementOf(heldOut, answers, task.isMultilabel) : { differences: [] }),
        ...(accuracy && { accuracy }),
        cost: { teacher: { ...(millisecondsPerText !== undefined && { millisecondsPerText }), ...measured }, student },
      };
    } finally {
      await model.close();
    }
  }

  async #accuracy(
    model: Model,
    task: StudentTask,
    judged: Gathered['judged'],
  ): Promise<DistillationSummary['accuracy']> {
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

function taughtRow(
  { text, taught, candidates = [] }: TaughtText,
  { isMultilabel, labels }: StudentTask,
  temperature = 1,
): TrainingRow {
  switch (taught.kind) {
    case 'labels': {
      const shares = temperature === 1 ? taught.shares : softened(taught.shares, temperature, isMultilabel);
      // A row of probabilities names at least one label.
      const [first] = labels ?? [];
      return { text, labels: Object.keys(shares).length > 0 || first === undefined ? shares : { [first]: 0 } };
    }
    case 'entities': {
      const { entities, doubts = [] } = taught;
      if (doubts.length === 0) return { text, entities };
      const soften = ({ tags, ...doubt }: TagDoubt) => ({ ...doubt, tags: softened(tags, temperature, false) });
      return { text, entities, doubts: temperature === 1 ? doubts : doubts.map(soften) };
    }
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
  const example = first && `the one for ${quoted(first.text.slice(0, 60))}: ${first.problem}`;
  const why = [
    ...(areRows > 0 ? [`${counted(areRows, 'text')} also in \`rows\`, \`dev\` or \`test\``] : []),
    ...(example === undefined ? [] : [`${counted(unusable.length, 'unusable answer')}, such as ${example}`]),
  ];
  const msg = `${taught.length} of ${counted(given, 'text')} can be used for training`;
  throw invalid(
    ['texts'],
    why.length === 0 ? `${msg}; give at least two` : `${msg}, and at least two are needed (${why.join('; ')})`,
  );
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** For the model card, in Markdown. */
function cardSection({ teacher, learned, agreement, accuracy, unusable }: DistillationSummary): string {
  const alsoRows = learned.rows > 0 ? `, and from ${counted(learned.rows, 'labelled row')}` : '';
  const lines = [
    '## Teacher',
    '',
    `The model learned from the answers of ${teacher} to ${counted(learned.texts, 'text')}${alsoRows}.`,
  ];
  if (unusable.count > 0)
    lines.push(`${counted(unusable.count, 'answer')} ${unusable.count === 1 ? 'was' : 'were'} unusable and left out.`);
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
