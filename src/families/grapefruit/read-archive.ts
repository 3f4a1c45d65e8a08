import * as z from 'zod';
import type { ModelType } from '../../contract/index.js';
import {
  type ArchiveFolder,
  archiveConfigSchema,
  CONFIG_FILE,
  LABEL_FILE,
  MAX_TAGS,
  openArchive,
  ProblemList,
  readArchiveConfig,
  readLabelIds,
  someOf,
} from '../../datasets/index.js';
import { pacedMap } from '../../pauses.js';
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
export async function readSequenceArchive(
  directory: string,
  type: ModelType,
  signal?: AbortSignal,
): Promise<SequenceDataset> {
  if (!sequenceTypes.some((each) => each === type)) {
    throw new TypeError(`${type} is not a sequence labelling type`);
  }
  const problems = new ProblemList();
  const archive = openArchive(directory, [CONFIG_FILE, LABEL_FILE]);
  const dataset = await readDataset(archive, problems, signal);
  if (dataset === undefined || problems.total > 0) throw problems.toError();
  return dataset;
}

async function readDataset(
  archive: ArchiveFolder,
  problems: ProblemList,
  signal: AbortSignal | undefined,
): Promise<SequenceDataset | undefined> {
  const config = await readArchiveConfig(archive, sequenceConfigSchema, problems, signal);
  const tags = await readLabelIds(archive, problems, { most: MAX_TAGS }, signal);
  if (tags) checkTags(tags, problems);
  if (config === undefined || tags === undefined) return undefined;
  const rules = {
    ids: new Map(tags.map((tag, id) => [tag, id])),
    expected: `a tag of label_id.json (${someOf(tags)})`,
  };
  const readSplit = async (folder: string) => {
    const written = await readSentenceFiles(archive, config, folder, problems, signal);
    return checkSentences(folder, written, rules, problems, signal);
  };
  const train = await readSplit(TRAIN_FOLDER);
  const dev = await readSplit(DEV_FOLDER);
  if (problems.total === 0) checkTrainable(tags, train, `${TRAIN_FOLDER}/${TAGS_FILE}`, problems);
  return {
    tags,
    train: await pacedMap(train.sentences, withoutLocation, signal),
    dev: await pacedMap(dev.sentences, withoutLocation, signal),
    warnings: problems.total === 0 ? await findWarnings(tags, train, dev, signal) : [],
  };
}

function withoutLocation({ words, tags }: LocatedSentence): TaggedSentence {
  return { words, tags };
}
