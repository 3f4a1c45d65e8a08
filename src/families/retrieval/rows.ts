import * as z from 'zod';
import type { DatasetProblem } from '../../contract/index.js';
import {
  type ArchiveFile,
  type ArchiveFolder,
  byIndex,
  CONFIG_FILE,
  checkIndices,
  counted,
  type DatasetLocation,
  type DatasetWarning,
  findConfiguredFile,
  LABEL_FILE,
  MAX_PASSAGES,
  openArchive,
  ProblemList,
  placeOfField,
  placeOfRow,
  quoted,
  type RowTable,
  readArchiveConfig,
  readJsonFile,
  readLabelIds,
  someOf,
  splitFilesSchema,
  warnAbout,
} from '../../datasets/index.js';
import { isPauseDue, mapWithPauses, pause } from '../../system/index.js';
import type { FamilyRows } from '../family.js';
import {
  comparisonWarnings,
  findTextProblem,
  foldText,
  type RowComparison,
  requireValid,
  type Splits,
  splitRowSets,
} from '../row-sets.js';
import type { LocatedQuestion, Question, RetrievalDataset } from './retrieval-dataset.js';

interface WrittenQuestion extends DatasetLocation {
  readonly question: string;
  readonly context: string;
}

/** What the two fields of a question are called in problems. */
type QuestionColumns = Readonly<Record<'question' | 'context', NonNullable<DatasetProblem['column']>>>;

type PassageIds = ReadonlyMap<string, number>;

function passageIdsOf(passages: readonly string[]): PassageIds {
  return new Map(passages.map((passage, id) => [passage, id]));
}

/** @param passageIds undefined if the passages couldn't be read; then no context is looked up */
function checkQuestion(
  written: WrittenQuestion,
  columns: QuestionColumns,
  passageIds: PassageIds | undefined,
  problems: ProblemList,
): LocatedQuestion | undefined {
  const { file, line, question, context } = written;
  const before = problems.total;
  for (const field of ['question', 'context'] as const) {
    const problem = findTextProblem(written[field]);
    if (problem) problems.add({ file, line, column: columns[field], ...problem });
  }
  if (problems.total > before || passageIds === undefined) return undefined;
  const passage = passageIds.get(context);
  if (passage !== undefined) return { question, passage, file, line };
  problems.add({
    ...{ file, line, column: columns.context },
    found: `found ${quoted(context)}, which is not a passage of label_id.json`,
    expected: 'one of its passages, character for character',
  });
  return undefined;
}

function checkRankable(passages: readonly string[], file: string, problems: ProblemList): void {
  if (passages.length >= 2) return;
  const found = `found ${counted(passages.length, 'passage')}`;
  problems.add({ file, found, expected: 'at least two passages to choose from' });
}

/** Questions are compared after folding case and white space; one may have several passages. */
const comparison: RowComparison<LocatedQuestion> = {
  noun: 'question',
  train: 'train',
  dev: 'dev',
  textOf: ({ question }) => foldText(question),
  answerOf: ({ passage }) => String(passage),
  aside: ' (ignoring case and spacing)',
};

async function datasetOf(
  passages: readonly string[],
  { train, dev }: Splits<LocatedQuestion>,
  signal: AbortSignal | undefined,
): Promise<RetrievalDataset> {
  return {
    passages,
    train: await mapWithPauses(train, withoutLocation, signal),
    dev: await mapWithPauses(dev, withoutLocation, signal),
    warnings: [
      ...(await comparisonWarnings({ train, dev }, comparison, signal)),
      ...unaskedWarnings(passages, [...train, ...dev]),
    ],
  };
}

function withoutLocation({ question, passage }: LocatedQuestion): Question {
  return { question, passage };
}

function unaskedWarnings(
  passages: readonly string[],
  questions: readonly LocatedQuestion[],
): readonly DatasetWarning[] {
  const count = passages.length - new Set(questions.map(({ passage }) => passage)).size;
  if (count === 0) return [];
  const unasked = count === 1 ? 'has no question and is' : 'have no question and are';
  const message = `${counted(count, 'passage')} ${unasked} searched like the others`;
  return [{ kind: 'passage_without_question', count, message, examples: [] }];
}

export const retrievalRows: FamilyRows<RetrievalDataset> = {
  /** Finds all problems in one pass, as far as config.json and label_id.json can be read. @throws DatasetError */
  async read(directory, _type, signal) {
    return requireValid((problems) => readDataset(openArchive(directory), problems, signal));
  },
  async check(sets, _type, signal) {
    const problems = new ProblemList();
    const extra = checkPassages(sets.passages ?? [], problems);
    const distinct = new Set<string>();
    for (const table of [sets.train, ...(sets.dev ? [sets.dev] : [])]) {
      for (const { context } of writtenQuestions(table)) distinct.add(context);
    }
    for (const passage of extra) distinct.add(passage);
    const passages = [...distinct];
    const passageIds = passageIdsOf(passages);
    const { leftOut, isDevDrawn, ...splits } = await splitRowSets<LocatedQuestion>(sets, problems, {
      noun: 'question',
      needed: 'at least two different questions, or rows for dev',
      check: (table) => {
        const context = table.checked.shape === 'passages' ? 'passages' : 'passage';
        const columns = {
          question: placeOfField(table, 0, 'question').column ?? 'question',
          context: placeOfField(table, 0, context).column ?? context,
        };
        const questions = writtenQuestions(table).map((each) => checkQuestion(each, columns, passageIds, problems));
        return questions.filter((question) => question !== undefined);
      },
      keyOf: ({ question, passage }) => `${passage} ${question}`,
      splitKeysOf: ({ question }) => ({ text: foldText(question), labels: [] }),
      checkTrainable: () => checkRankable(passages, sets.train.origin, problems),
    });
    const dataset = await datasetOf(passages, splits, signal);
    return { dataset: { ...dataset, ...(isDevDrawn && { isDevDrawn }) }, leftOut };
  },
  write: archiveFiles,
};

/** A question with several passages is one for each of them. */
function writtenQuestions(table: RowTable): readonly WrittenQuestion[] {
  const { checked, origin: file } = table;
  const lineOf = (row: number) => placeOfRow(table, row).line;
  if (checked.shape === 'passage') {
    return checked.rows.map(({ question, passage: context }, row) => ({ file, line: lineOf(row), question, context }));
  }
  if (checked.shape === 'passages') {
    return checked.rows.flatMap(({ question, passages }, row) =>
      passages.map((context) => ({ file, line: lineOf(row), question, context })),
    );
  }
  throw new TypeError(`rows of ${checked.shape} are not for question answering`);
}

function checkPassages(passages: Iterable<string>, problems: ProblemList): readonly string[] {
  const given = [...passages];
  for (const [index, passage] of given.entries()) {
    const problem = findTextProblem(passage);
    if (problem) problems.add({ file: 'passages', line: index + 1, ...problem });
  }
  return given;
}

const EXPECTED_ENTRY = 'an object with question and context, both strings';
const entrySchema = z.looseObject({ question: z.string('a string'), context: z.string('a string') });

async function readDataset(
  archive: ArchiveFolder,
  problems: ProblemList,
  signal: AbortSignal | undefined,
): Promise<RetrievalDataset | undefined> {
  const config = await readArchiveConfig(archive, splitFilesSchema, problems, signal);
  const passages = await readLabelIds(archive, problems, { noun: 'passage', most: MAX_PASSAGES }, signal);
  if (passages) checkRankable(passages, LABEL_FILE, problems);
  if (config === undefined) return undefined;
  const passageIds = passages && passageIdsOf(passages);
  const trainFile = findConfiguredFile(archive, config, 'TRAIN_FILE', config.TRAIN_FILE, problems);
  const devFile = findConfiguredFile(archive, config, 'DEV_FILE', config.DEV_FILE, problems);
  const unknown = new UnknownFields();
  const reading = { passageIds, unknown, problems, signal };
  const train = trainFile ? await readSplit(trainFile, reading) : [];
  const dev = devFile ? await readSplit(devFile, reading) : [];
  if (passages === undefined || problems.total > 0) return undefined;
  const dataset = await datasetOf(passages, { train, dev }, signal);
  return { ...dataset, warnings: [...dataset.warnings, ...unknown.warnings()] };
}

interface SplitReading {
  readonly passageIds: PassageIds | undefined;
  readonly unknown: UnknownFields;
  readonly problems: ProblemList;
  readonly signal: AbortSignal | undefined;
}

async function readSplit(
  { path, name: file }: ArchiveFile,
  { passageIds, unknown, problems, signal }: SplitReading,
): Promise<LocatedQuestion[]> {
  const json = await readJsonFile(path, file, problems, signal);
  if (json === undefined) return [];
  if (json.members === undefined || json.members.length === 0) {
    const found = `found ${json.members === undefined ? quoted(json.value) : '{}'}`;
    const expected = 'an object that maps "0", "1", … to objects with question and context';
    problems.add({ file, found, expected });
    return [];
  }
  await checkIndices(json.members, file, problems, signal);
  const questions: LocatedQuestion[] = [];
  for (const { key, value, line } of byIndex(json.members)) {
    if (isPauseDue()) await pause(signal);
    const written = checkEntry(value, key, { file, line }, unknown, problems);
    const columns = { question: `${key}.question`, context: `${key}.context` };
    const question = written && checkQuestion(written, columns, passageIds, problems);
    if (question) questions.push(question);
  }
  return questions;
}

function checkEntry(
  entry: unknown,
  key: string,
  place: DatasetLocation,
  unknown: UnknownFields,
  problems: ProblemList,
): WrittenQuestion | undefined {
  const parsed = entrySchema.safeParse(entry, { reportInput: true });
  if (parsed.success) {
    const { question, context, ...others } = parsed.data;
    unknown.add(Object.keys(others), place);
    return { ...place, question, context };
  }
  for (const issue of parsed.error.issues) {
    const column = [key, ...issue.path].join('.');
    const isField = issue.path.length > 0;
    const found = issue.input === undefined ? 'the field is missing' : `found ${quoted(issue.input)}`;
    problems.add({ ...place, column, found, expected: isField ? issue.message : EXPECTED_ENTRY });
  }
  return undefined;
}

/** Collects fields of questions that nothing reads. They are worth a warning, as one of them may be misspelt. */
class UnknownFields {
  readonly #names = new Set<string>();
  readonly #places: DatasetLocation[] = [];

  add(names: readonly string[], place: DatasetLocation): void {
    if (names.length === 0) return;
    for (const name of names) this.#names.add(name);
    this.#places.push(place);
  }

  warnings(): readonly DatasetWarning[] {
    const names = someOf(Array.from(this.#names, (name) => quoted(name)));
    const questions = counted(this.#places.length, 'question has', 'questions have');
    const message = `${questions} fields that are not read: ${names}`;
    return warnAbout('unknown_field', this.#places, message);
  }
}

const TRAIN_FILE = 'train.json';
const DEV_FILE = 'dev.json';

function archiveFiles({ passages, train, dev }: RetrievalDataset, name: string) {
  const config = { DATASET_NAME: name, DATA_DIR: name, TRAIN_FILE, DEV_FILE, TEST_FILE: '' };
  const split = (questions: readonly Question[]) => ({
    ...questions.map(({ question, passage }) => ({ question, context: passages[passage] ?? '' })),
  });
  return {
    [CONFIG_FILE]: config,
    [LABEL_FILE]: { ...passages },
    [TRAIN_FILE]: split(train),
    [DEV_FILE]: split(dev),
  };
}
