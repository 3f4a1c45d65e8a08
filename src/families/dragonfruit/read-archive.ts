import * as z from 'zod';
import {
  type ArchiveFile,
  type ArchiveFolder,
  checkIndices,
  type DatasetLocation,
  findConfiguredFile,
  LABEL_FILE,
  openArchive,
  ProblemList,
  quoted,
  readArchiveConfig,
  readJsonFile,
  readLabelIds,
  splitFilesSchema,
} from '../../datasets/index.js';
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
export function readRetrievalArchive(directory: string): RetrievalDataset {
  const problems = new ProblemList();
  const dataset = readDataset(openArchive(directory), problems);
  if (dataset === undefined || problems.total > 0) throw problems.toError();
  return dataset;
}

function readDataset(archive: ArchiveFolder, problems: ProblemList): RetrievalDataset | undefined {
  const config = readArchiveConfig(archive, splitFilesSchema, problems);
  const passages = readLabelIds(archive, problems, 'passage');
  if (passages) checkRankable(passages, LABEL_FILE, problems);
  if (config === undefined) return undefined;
  const passageIds = passages && passageIdsOf(passages);
  const trainFile = findConfiguredFile(archive, config, 'TRAIN_FILE', config.TRAIN_FILE, problems);
  const devFile = findConfiguredFile(archive, config, 'DEV_FILE', config.DEV_FILE, problems);
  const unknown = new UnknownFields();
  const train = trainFile ? readSplit(trainFile, passageIds, unknown, problems) : [];
  const dev = devFile ? readSplit(devFile, passageIds, unknown, problems) : [];
  if (passages === undefined || problems.total > 0) return undefined;
  return {
    passages,
    train: train.map(withoutLocation),
    dev: dev.map(withoutLocation),
    warnings: [...findWarnings(passages, train, dev), ...unknown.warnings()],
  };
}

function withoutLocation({ question, passage }: LocatedQuestion): Question {
  return { question, passage };
}

/** The questions of one file, in the order of their indices. */
function readSplit(
  { path, name: file }: ArchiveFile,
  passageIds: PassageIds | undefined,
  unknown: UnknownFields,
  problems: ProblemList,
): LocatedQuestion[] {
  const json = readJsonFile(path, file, problems);
  if (json === undefined) return [];
  const entries = entriesOf(json.value);
  if (entries.length === 0) {
    const expected = 'an object that maps "0", "1", … to objects with question and context';
    problems.add({ file, found: `found ${quoted(json.value)}`, expected });
    return [];
  }
  checkIndices(
    entries.map(([key]) => key),
    file,
    problems,
  );
  return entries.flatMap(([key, entry]) => {
    const place = { file, line: json.lines.get(key) ?? 1 };
    const written = checkEntry(entry, key, place, unknown, problems);
    const columns = { question: `${key}.question`, context: `${key}.context` };
    return written ? (checkQuestion(written, columns, passageIds, problems) ?? []) : [];
  });
}

/** Those of an object, whatever their names; none of anything else. */
function entriesOf(value: unknown): [key: string, entry: unknown][] {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? Object.entries(value) : [];
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
