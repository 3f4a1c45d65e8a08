/** What is checked once all rows are known: that there is something to learn, and what is worth a warning. */
import {
  counted,
  type DatasetLocation,
  type DatasetWarning,
  type ProblemList,
  warnAbout,
} from '../../datasets/index.js';
import { isPauseDue, pacedFilter, pacedMap, pause } from '../../pauses.js';
import { foldText } from '../dataset-text.js';
import { quotedLabels } from './classification-config.js';
import type { ClassificationKind, LocatedRow } from './classification-dataset.js';

/** Adds a problem if the train rows leave nothing to tell apart: one class only, or no label at all. */
export function checkTrainable(
  kind: ClassificationKind,
  labels: readonly string[],
  train: readonly LocatedRow[],
  file: string,
  problems: ProblemList,
): void {
  const used = new Set(train.flatMap(({ labelIds }) => labelIds));
  const needed = kind === 'multilabel' ? 1 : 2;
  if (train.length === 0 || used.size >= needed) return;
  const only = labels.filter((_, id) => used.has(id));
  const found = `found ${only.length === 0 ? 'no label on any row' : `the label ${quotedLabels(only)} only`}`;
  problems.add({ file, found, expected: `rows of at least ${counted(needed, 'label')}` });
}

/** Warnings about a dataset; texts are compared after folding case and whitespace. */
export async function findWarnings(
  labels: readonly string[],
  train: readonly LocatedRow[],
  dev: readonly LocatedRow[],
  signal?: AbortSignal,
): Promise<readonly DatasetWarning[]> {
  return [
    ...(await repetitionWarnings(train, signal)),
    ...(await leakWarnings(train, dev, signal)),
    ...classWarnings(labels, train, 'train'),
    ...classWarnings(labels, dev, 'dev'),
  ];
}

async function repetitionWarnings(
  train: readonly LocatedRow[],
  signal: AbortSignal | undefined,
): Promise<readonly DatasetWarning[]> {
  const seen = new Map<string, Set<string>>();
  const duplicates: DatasetLocation[] = [];
  const conflicts: DatasetLocation[] = [];
  for (const row of train) {
    if (isPauseDue()) await pause(signal);
    const text = foldText(row.text);
    const labels = row.labelIds.join();
    const earlier = seen.get(text);
    if (earlier === undefined) seen.set(text, new Set([labels]));
    else if (earlier.has(labels)) duplicates.push(row);
    else {
      earlier.add(labels);
      conflicts.push(row);
    }
  }
  return [
    ...warnAbout(
      'duplicate_row',
      duplicates,
      `${rows(duplicates)} of train repeated, case and spacing aside`,
    ),
    ...warnAbout(
      'conflicting_labels',
      conflicts,
      `${rows(conflicts)} of train with the text of an earlier row but other labels`,
    ),
  ];
}

async function leakWarnings(
  train: readonly LocatedRow[],
  dev: readonly LocatedRow[],
  signal: AbortSignal | undefined,
): Promise<readonly DatasetWarning[]> {
  const devTexts = new Set(await pacedMap(dev, ({ text }) => foldText(text), signal));
  const shared = await pacedFilter(train, ({ text }) => devTexts.has(foldText(text)), signal);
  const message = `${rows(shared)} of train also in dev, so the figures measured on dev are too good`;
  return warnAbout('train_row_in_dev', shared, message);
}

function classWarnings(
  labels: readonly string[],
  split: readonly LocatedRow[],
  name: string,
): readonly DatasetWarning[] {
  const used = new Set(split.flatMap(({ labelIds }) => labelIds));
  const missing = labels.filter((_, id) => !used.has(id));
  if (missing.length === 0) return [];
  const message = `no row of ${name} has ${missing.length === 1 ? 'the label' : 'the labels'} ${quotedLabels(missing)}`;
  return [{ kind: 'class_without_examples', count: missing.length, message, examples: [] }];
}

function rows(list: readonly unknown[]): string {
  return counted(list.length, 'row');
}
