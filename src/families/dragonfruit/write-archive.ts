import { CONFIG_FILE, LABEL_FILE, ProblemList } from '../../datasets/index.js';
import {
  type ArchiveOptions,
  type ArchiveSummary,
  checkArchiveOptions,
  DEFAULT_DEV_FRACTION,
  jsonFile,
  type PreparedArchive,
} from '../archive-writing.js';
import { findTextProblem, foldText } from '../dataset-text.js';
import { type Splits, splitDev } from '../split-dev.js';
import { checkQuestion, type PassageIds, passageIdsOf } from './check-question.js';
import { checkRankable, findWarnings } from './check-splits.js';
import type { LocatedQuestion } from './retrieval-dataset.js';
import { type QuestionSource, type QuestionTable, readSource } from './source-questions.js';

const TRAIN_FILE = 'train.json';
const DEV_FILE = 'dev.json';

/** What `createRetrievalArchive` is to write. */
export interface RetrievalArchiveOptions extends ArchiveOptions<QuestionSource> {
  /** Passages to search besides those of the rows. Default: none. */
  readonly passages?: Iterable<string> | undefined;
}

/** What was written. */
export interface RetrievalArchiveSummary extends ArchiveSummary {
  /** The number of distinct passages, including those without a question. */
  readonly passages: number;
}

/** Reads and checks the rows. @throws DatasetError with every problem, ValidationError */
export async function prepareArchive(
  options: RetrievalArchiveOptions,
): Promise<PreparedArchive<RetrievalArchiveSummary>> {
  checkArchiveOptions(options);
  const { devFraction = DEFAULT_DEV_FRACTION, seed = 0 } = options;
  const problems = new ProblemList();
  const rows = await readSource(options.rows, 'rows', problems);
  const devRows = options.devRows && (await readSource(options.devRows, 'devRows', problems));
  const extra = checkPassages(options.passages ?? [], problems);
  const contexts = [...rows.questions, ...(devRows?.questions ?? [])].map(({ context }) => context);
  const passages = [...new Set([...contexts, ...extra])];
  const passageIds = passageIdsOf(passages);
  const given = checkRows(rows, passageIds, problems);
  const givenDev = devRows && checkRows(devRows, passageIds, problems);
  if (problems.total > 0) throw problems.toError();

  const splits = givenDev
    ? { train: given.questions, dev: givenDev.questions }
    : setAside(given.questions, devFraction, seed);
  checkRankable(passages, rows.file, problems);
  if (splits.dev.length === 0) {
    problems.add({
      file: rows.file,
      found: 'found too few questions to set any aside for dev',
      expected: 'at least two different questions, or devRows',
    });
  }
  if (problems.total > 0) throw problems.toError();
  return {
    files: archiveFiles(options, passages, splits),
    summary: {
      passages: passages.length,
      train: splits.train.length,
      dev: splits.dev.length,
      removedDuplicates: given.removedDuplicates + (givenDev?.removedDuplicates ?? 0),
      warnings: await findWarnings(passages, splits.train, splits.dev),
    },
  };
}

function checkPassages(passages: Iterable<string>, problems: ProblemList): readonly string[] {
  const given = [...passages];
  for (const [index, passage] of given.entries()) {
    const problem = findTextProblem(passage);
    if (problem) problems.add({ file: 'passages', line: index + 1, ...problem });
  }
  return given;
}

interface CheckedRows {
  readonly questions: readonly LocatedQuestion[];
  readonly removedDuplicates: number;
}

function checkRows(
  { file, columns, questions: written }: QuestionTable,
  passageIds: PassageIds,
  problems: ProblemList,
): CheckedRows {
  if (written.length === 0 && problems.total === 0) {
    problems.add({ file, found: 'found no rows', expected: 'at least one row' });
  }
  const questions = new Map<string, LocatedQuestion>();
  let accepted = 0;
  for (const each of written) {
    const checked = checkQuestion(each, columns, passageIds, problems);
    if (checked === undefined) continue;
    accepted += 1;
    const key = `${checked.passage} ${each.question}`;
    if (!questions.has(key)) questions.set(key, checked);
  }
  return { questions: [...questions.values()], removedDuplicates: accepted - questions.size };
}

/**
 * Questions that differ only in case or spacing stay together, so that dev asks nothing that train has
 * answered.
 */
function setAside(
  questions: readonly LocatedQuestion[],
  devFraction: number,
  seed: number,
): Splits<LocatedQuestion> {
  const keysOf = ({ question }: LocatedQuestion) => ({ text: foldText(question), labels: [] });
  return splitDev(questions, keysOf, devFraction, seed);
}

function archiveFiles(
  { name, description = name }: RetrievalArchiveOptions,
  passages: readonly string[],
  { train, dev }: Splits<LocatedQuestion>,
): Readonly<Record<string, string>> {
  const config = {
    desc: description,
    DATASET_NAME: name,
    DATA_DIR: name,
    TRAIN_FILE,
    DEV_FILE,
    TEST_FILE: '',
  };
  const split = (questions: readonly LocatedQuestion[]) =>
    jsonFile({
      ...questions.map(({ question, passage }) => ({ question, context: passages[passage] ?? '' })),
    });
  return {
    [`${name}/${CONFIG_FILE}`]: jsonFile(config),
    [`${name}/${LABEL_FILE}`]: jsonFile({ ...passages }),
    [`${name}/${TRAIN_FILE}`]: split(train),
    [`${name}/${DEV_FILE}`]: split(dev),
  };
}
