import { basename, extname } from 'node:path';
import * as z from 'zod';
import { documentedModelTypes } from '../../contract/index.js';
import type { DatasetWarning } from '../../datasets/index.js';
import {
  type ClassificationType,
  classificationTypes,
  createClassificationArchive,
  createRetrievalArchive,
  createSequenceArchive,
  sequenceTypes,
} from '../../families/index.js';
import { checked } from '../checked.js';
import type { CommandRun } from '../command-definition.js';
import { outcomeOf } from '../outcome.js';
import { numberSchema, shareSchema } from './shared-settings.js';
import { grouped } from './table.js';

const column = z.string().min(1).optional();
const archiveSchema = z.strictObject({
  input: z.string().min(1),
  output: z.string().min(1).optional(),
  type: z.enum(documentedModelTypes, `give one of ${documentedModelTypes.join(', ')}`),
  'text-column': column,
  'label-column': column,
  'question-column': column,
  'passage-column': column,
  dev: z.string().min(1).optional(),
  'dev-fraction': shareSchema.optional(),
  seed: numberSchema.optional(),
  name: z.string().min(1).optional(),
  description: z.string().optional(),
});
type ArchiveSettings = z.infer<typeof archiveSchema>;

/** What is told of an archive, whatever its type. */
interface Summary {
  readonly path: string;
  readonly train: number;
  readonly dev: number;
  readonly removedDuplicates: number;
  readonly warnings: readonly DatasetWarning[];
  /** What is in it, in words. */
  readonly contents: string;
  /** What was changed of it, in words. */
  readonly respaced?: string;
}

/** `orchard archive`: makes a dataset archive out of a file. */
export async function archive({ given, output, isJson }: CommandRun): Promise<number> {
  const settings = checked(archiveSchema, given);
  const { contents, respaced, ...summary } = await made(settings);
  if (isJson) {
    await output.json({ ...summary, contents });
    return 0;
  }
  const { path, train, dev, removedDuplicates, warnings } = summary;
  await output.line(
    `${path}: ${grouped(train)} rows to train on, ${grouped(dev)} to evaluate on, ${contents}`,
  );
  if (removedDuplicates > 0) output.warn(`${grouped(removedDuplicates)} repeated rows were left out`);
  if (respaced !== undefined) output.warn(respaced);
  for (const { message } of warnings) output.warn(`warning: ${message}`);
  return 0;
}

function made(settings: ArchiveSettings): Promise<Summary> {
  const { type } = settings;
  const classification = classificationTypes.find((each) => each === type);
  if (classification !== undefined) return madeClassification(classification, settings);
  return sequenceTypes.some((each) => each === type) ? madeSequence(settings) : madeRetrieval(settings);
}

/** Beside the input, if no place is named. */
function targetOf({ input, output }: ArchiveSettings): string {
  return output ?? `${input.slice(0, input.length - extname(input).length)}.zip`;
}

function optionsOf(settings: ArchiveSettings) {
  const { description, seed, 'dev-fraction': devFraction } = settings;
  const target = targetOf(settings);
  return { name: settings.name ?? basename(target, extname(target)), description, devFraction, seed };
}

/** The two files, read with the same columns. */
function sources<Columns extends object>({ input, dev }: ArchiveSettings, columns: Columns) {
  return {
    rows: { path: input, ...columns },
    devRows: dev === undefined ? undefined : { path: dev, ...columns },
  };
}

async function madeClassification(type: ClassificationType, settings: ArchiveSettings): Promise<Summary> {
  const columns = { textColumn: settings['text-column'], labelColumn: settings['label-column'] };
  const options = { ...optionsOf(settings), type, ...sources(settings, columns) };
  const created = createClassificationArchive(options, targetOf(settings));
  const { labels, respacedTexts, ...summary } = await outcomeOf(created);
  const respaced = `tabs and line breaks became spaces in ${grouped(respacedTexts)} texts`;
  return { ...summary, contents: `${labels.length} labels`, ...(respacedTexts > 0 && { respaced }) };
}

async function madeSequence(settings: ArchiveSettings): Promise<Summary> {
  const created = createSequenceArchive(
    { ...optionsOf(settings), ...sources(settings, {}) },
    targetOf(settings),
  );
  const { entityTypes, respacedWords, ...summary } = await outcomeOf(created);
  const contents = `${entityTypes.length} types of entities (${entityTypes.join(', ')})`;
  const respaced = `${grouped(respacedWords)} words with spaces became several, or none`;
  return { ...summary, contents, ...(respacedWords > 0 && { respaced }) };
}

async function madeRetrieval(settings: ArchiveSettings): Promise<Summary> {
  const columns = { questionColumn: settings['question-column'], contextColumn: settings['passage-column'] };
  const created = createRetrievalArchive(
    { ...optionsOf(settings), ...sources(settings, columns) },
    targetOf(settings),
  );
  const { passages, ...summary } = await outcomeOf(created);
  return { ...summary, contents: `${grouped(passages)} passages` };
}
