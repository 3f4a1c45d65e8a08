import * as z from 'zod';
import {
  type ArchiveFile,
  type ArchiveFolder,
  byIndex,
  checkIndices,
  type DatasetLocation,
  findConfiguredFile,
  LABEL_FILE,
  MAX_PASSAGES,
  openArchive,
  ProblemList,
  quoted,
  readArchiveConfig,
  readJsonFile,
  readLabelIds,
  splitFilesSchema,
} from '../../datasets/index.js';
import { isPauseDue, pacedMap, pause } from '../../pauses.js';
import { checkQuestion, type PassageIds, passageIdsOf, type WrittenQuestion } from './check-question.js';
import { checkRankable, findWarnings } from './check-splits.js';
import type { LocatedQuestion, Question, RetrievalDataset } from './retrieval-dataset.js';
import { UnknownFields } from './unknown-fields.js';

const EXPECTED_ENTRY = 'an object with question and context, both strings';
const entrySchema = z.looseObject({ question: z.string('a string'), context: z.string('a string') });

/**
 * Reads the unpacked archive of a question answering and checks every rule of docs/archives.md. All problems
 * are found in one pass, except that questions can't be found without config.json, nor their passages without
 * label_id.json.
 * @throws DatasetError with every problem.
 */
export async function readRetrievalArchive(
  directory: string,
  signal?: AbortSignal,
): Promise<RetrievalDataset> {
  const problems = new ProblemList();
  const dataset = await readDataset(openArchive(directory), problems, signal);
  if (dataset === undefined || problems.total > 0) throw problems.toError();
  return dataset;
}

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
  return {
    passages,
    train: await pacedMap(train, withoutLocation, signal),
    dev: await pacedMap(dev, withoutLocation, signal),
    warnings: [...(await findWarnings(passages, train, dev, signal)), ...unknown.warnings()],
  };
}

function withoutLocation({ question, passage }: LocatedQuestion): Question {
  return { question, passage };
}

interface SplitReading {
  readonly passageIds: PassageIds | undefined;
  readonly unknown: UnknownFields;
  readonly problems: ProblemList;
  readonly signal: AbortSignal | undefined;
}

/** The questions of one file, in the order of their indices. */
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
