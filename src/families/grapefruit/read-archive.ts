import * as z from 'zod';
import type { ModelType } from '../../contract/index.js';
import {
  type ArchiveFolder,
  archiveConfigSchema,
  CONFIG_FILE,
  LABEL_FILE,
  openArchive,
  ProblemList,
  readArchiveConfig,
  readLabelIds,
  someOf,
} from '../../datasets/index.js';
import { checkSentences, checkTrainable, findWarnings } from './check-splits.js';
import { checkTags } from './check-tags.js';
import { DEV_FOLDER, readSentenceFiles, TAGS_FILE, TRAIN_FOLDER } from './sentence-files.js';
import {
  type LocatedSentence,
  type SequenceDataset,
  sequenceTypes,
  type TaggedSentence,
} from './sequence-dataset.js';

const text = z.string('a string').default('');

/**
 * Any field of config.json may be missing, and so may the file: the interface doesn't say what it holds here.
 */
const sequenceConfigSchema = archiveConfigSchema.extend({ DATASET_NAME: text, DATA_DIR: text });

/**
 * Reads the unpacked archive of a sequence labelling and checks every rule of docs/archives.md. All problems
 * are found in one pass, except that sentences can't be checked without label_id.json, or with an invalid
 * config.json.
 * @throws DatasetError with every problem; TypeError for a model type of another family.
 */
export function readSequenceArchive(directory: string, type: ModelType): SequenceDataset {
  if (!sequenceTypes.some((each) => each === type)) {
    throw new TypeError(`${type} is not a sequence labelling type`);
  }
  const problems = new ProblemList();
  const dataset = readDataset(openArchive(directory, [CONFIG_FILE, LABEL_FILE]), problems);
  if (dataset === undefined || problems.total > 0) throw problems.toError();
  return dataset;
}

function readDataset(archive: ArchiveFolder, problems: ProblemList): SequenceDataset | undefined {
  const config = readArchiveConfig(archive, sequenceConfigSchema, problems);
  const tags = readLabelIds(archive, problems);
  if (tags) checkTags(tags, problems);
  if (config === undefined || tags === undefined) return undefined;
  const rules = {
    ids: new Map(tags.map((tag, id) => [tag, id])),
    expected: `a tag of label_id.json (${someOf(tags)})`,
  };
  const readSplit = (folder: string) =>
    checkSentences(folder, readSentenceFiles(archive, config, folder, problems), rules, problems);
  const train = readSplit(TRAIN_FOLDER);
  const dev = readSplit(DEV_FOLDER);
  if (problems.total === 0) checkTrainable(tags, train, `${TRAIN_FOLDER}/${TAGS_FILE}`, problems);
  return {
    tags,
    train: train.sentences.map(withoutLocation),
    dev: dev.sentences.map(withoutLocation),
    warnings: problems.total === 0 ? findWarnings(tags, train, dev) : [],
  };
}

function withoutLocation({ words, tags }: LocatedSentence): TaggedSentence {
  return { words, tags };
}
