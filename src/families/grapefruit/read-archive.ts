import { err, ok, type Result } from 'neverthrow';
import type { ModelType } from '../../contract/index.js';
import {
  type ArchiveFolder,
  archiveConfigSchema,
  openArchive,
  ProblemList,
  readArchiveConfig,
  readLabelIds,
  someOf,
} from '../../datasets/index.js';
import type { DatasetError } from '../../errors.js';
import { checkSentences, checkTrainable, findWarnings } from './check-splits.js';
import { checkTags } from './check-tags.js';
import { DEV_FOLDER, readSentenceFiles, TAGS_FILE, TRAIN_FOLDER } from './sentence-files.js';
import {
  type LocatedSentence,
  type SequenceDataset,
  sequenceTypes,
  type TaggedSentence,
} from './sequence-dataset.js';

/**
 * Reads the documented archive of a sequence labelling, unzipped in `directory`, and checks every rule on it. All
 * problems are found in one go, save that sentences can't be checked without config.json and label_id.json.
 * @throws TypeError for a model type of another family.
 */
export function readSequenceArchive(
  directory: string,
  type: ModelType,
): Result<SequenceDataset, DatasetError> {
  if (!sequenceTypes.some((each) => each === type)) {
    throw new TypeError(`${type} is not a sequence labelling type`);
  }
  return openArchive(directory).andThen((archive) => {
    const problems = new ProblemList();
    const dataset = readDataset(archive, problems);
    return dataset && problems.total === 0 ? ok(dataset) : err(problems.toError());
  });
}

function readDataset(archive: ArchiveFolder, problems: ProblemList): SequenceDataset | undefined {
  const config = readArchiveConfig(archive, archiveConfigSchema, problems);
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
