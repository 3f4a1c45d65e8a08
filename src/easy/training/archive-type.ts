/** Which type of model an archive (docs/archives.md) is for, by what is in it. */
import * as z from 'zod';
import {
  type ArchiveFolder,
  archiveFile,
  CONFIG_FILE,
  findDataFile,
  jsonValue,
  LABEL_FILE,
  openArchive,
  ProblemList,
  readArchiveConfig,
  readJsonFile,
  readLines,
  splitFilesSchema,
} from '../../datasets/index.js';
import { invalid } from '../rows/index.js';
import { type FoundType, found } from './model-type.js';

const configSchema = splitFilesSchema.partial().extend({
  field_names: z.array(z.string()).optional(),
  NUM_CLASS_LABELS: z.number().optional(),
  DATASET_NAME: z.string().default(''),
  DATA_DIR: z.string().default(''),
});
type Config = z.infer<typeof configSchema>;

/** A file that only archives of entities have. */
const SENTENCES = /(^|\/)sentences\.txt$/;
/** Names of a table's column with several labels. */
const MANY = /,/;

/**
 * The type of an unpacked archive: by the files that it names, NUM_CLASS_LABELS, and whether rows have several labels.
 * @throws DatasetError for a folder that is no archive, ValidationError where nothing in it settles the type.
 */
export async function typeOfArchive(directory: string): Promise<FoundType> {
  const archive = openArchive(directory, [CONFIG_FILE, LABEL_FILE]);
  if (archive.files.some((name) => SENTENCES.test(name))) {
    return found('named-entity-recognition', 'inferred', 'the archive has sentences and tags');
  }
  const problems = new ProblemList();
  const config = await readArchiveConfig(archive, configSchema, problems);
  if (config === undefined) throw problems.toError();
  if (config.field_names !== undefined || config.NUM_CLASS_LABELS !== undefined) {
    return typeOfTable(archive, config, problems);
  }
  if (config.TRAIN_FILE?.endsWith('.json') === true) {
    return found('question-answering', 'inferred', 'the archive has questions and passages');
  }
  throw invalid(['type'], `${CONFIG_FILE} of the archive does not say what it is for; pass type`);
}

async function typeOfTable(
  archive: ArchiveFolder,
  config: Config,
  problems: ProblemList,
): Promise<FoundType> {
  if (config.NUM_CLASS_LABELS === 1) {
    const labels = await labelCount(archive, problems);
    if (labels === 2) return found('binary-text-classification', 'inferred', 'NUM_CLASS_LABELS is 1');
    return found(
      'multilabel-text-classification',
      'inferred',
      'NUM_CLASS_LABELS and the number of labels are 1',
    );
  }
  const cells = await labelCells(archive, config, problems);
  const isMany = cells.some((cell) => cell.trim() === '' || MANY.test(cell));
  return isMany
    ? found('multilabel-text-classification', 'inferred', 'rows of the archive have any number of labels')
    : found('multiclass-text-classification', 'inferred', 'each row of the archive has one label');
}

async function labelCount(archive: ArchiveFolder, problems: ProblemList): Promise<number> {
  const file = archiveFile(archive, LABEL_FILE);
  const json = file && (await readJsonFile(file.path, file.name, problems));
  const value: unknown = json && jsonValue(json);
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
}

/** The cells of the label column, or of the last one where its name isn't `label`. */
async function labelCells(
  archive: ArchiveFolder,
  config: Config,
  problems: ProblemList,
): Promise<readonly string[]> {
  const { TRAIN_FILE = '', DATASET_NAME, DATA_DIR } = config;
  const file = findDataFile(archive, { desc: '', DATASET_NAME, DATA_DIR }, TRAIN_FILE);
  const [header, ...lines] = (file && (await readLines(file.path, file.name, problems))) ?? [];
  if (header === undefined) throw invalid(['type'], 'the archive has no rows to tell its type by; pass type');
  const columns = header.text.split('\t');
  const at = columns.includes('label') ? columns.indexOf('label') : columns.length - 1;
  return lines.map(({ text }) => text.split('\t')[at] ?? '');
}
