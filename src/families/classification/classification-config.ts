import * as z from 'zod';
import { CONFIG_FILE, counted, type ProblemList, quoted, splitFilesSchema } from '../../datasets/index.js';
import type { ClassificationKind } from './classification-dataset.js';

/** Columns of the archive (docs/archives.md). */
export const TEXT_COLUMN = 'sentence';
export const LABEL_COLUMN = 'label';

/** The column names as config.json has them, and which column holds what. */
const fieldNames = z
  .array(z.string('a string').min(1, 'the name of a column'), 'an array of column names')
  .transform((names, context) => {
    const roles = columnRoles(names);
    if (roles) return { names, roles };
    const message = `the names of two columns, text then label, as in ["${TEXT_COLUMN}", "${LABEL_COLUMN}"]`;
    context.addIssue({ code: 'custom', message, input: names });
    return z.NEVER;
  });

/** config.json of a text classification archive. */
export const classificationConfigSchema = splitFilesSchema.extend({
  field_names: fieldNames,
  field_header: z.literal(0, '0 (the header is the first row)').default(0),
  NUM_CLASS_LABELS: z.int('a whole number'),
});

type ClassificationConfig = z.infer<typeof classificationConfigSchema>;

/** Which column holds what. */
export interface ColumnRoles {
  readonly text: string;
  readonly label: string;
}

/**
 * Columns called "sentence" and "label" are the text and the label, wherever they stand. If one of two
 * columns has such a name, the other column has the other role; if neither does, the text comes first.
 * @returns undefined if the names don't settle the two roles.
 */
function columnRoles(names: readonly string[]): ColumnRoles | undefined {
  if (new Set(names).size < names.length) return undefined;
  if (names.includes(TEXT_COLUMN) && names.includes(LABEL_COLUMN)) {
    return { text: TEXT_COLUMN, label: LABEL_COLUMN };
  }
  const [first, second, ...more] = names;
  if (first === undefined || second === undefined || more.length > 0) return undefined;
  const isSwapped = second === TEXT_COLUMN || first === LABEL_COLUMN;
  return isSwapped ? { text: second, label: first } : { text: first, label: second };
}

/** What NUM_CLASS_LABELS should be: the number of labels, but 1 for a binary model, which has two. */
export function numClassLabels(kind: ClassificationKind, labels: readonly string[]): number {
  return kind === 'binary' ? 1 : labels.length;
}

/** Adds a problem if a model of this kind can't have so many labels. */
export function checkLabelCount(
  kind: ClassificationKind,
  labels: readonly string[],
  file: string,
  problems: ProblemList,
): void {
  const isAllowed = {
    binary: labels.length === 2,
    multiclass: labels.length >= 2,
    multilabel: labels.length >= 1,
  };
  if (isAllowed[kind]) return;
  const expected = { binary: 'exactly 2', multiclass: 'at least 2', multilabel: 'at least 1' };
  const listed = labels.length === 0 ? '' : ` (${quotedLabels(labels)})`;
  const found = `found ${counted(labels.length, 'label')}${listed}`;
  problems.add({ file, found, expected: `${expected[kind]} for a ${kind} model` });
}

export function checkNumClassLabels(
  kind: ClassificationKind,
  labels: readonly string[],
  config: ClassificationConfig,
  problems: ProblemList,
): void {
  const expected = numClassLabels(kind, labels);
  if (config.NUM_CLASS_LABELS === expected) return;
  problems.add({
    file: CONFIG_FILE,
    column: 'NUM_CLASS_LABELS',
    found: `found ${config.NUM_CLASS_LABELS}`,
    expected: kind === 'binary' ? '1 for a binary model' : `${expected}, the number of labels in label_id.json`,
  });
}

/** The first labels of a list, quoted. */
export function quotedLabels(labels: readonly string[]): string {
  const shown = labels.slice(0, 6).map((label) => quoted(label));
  return labels.length > shown.length ? `${shown.join(', ')}, …` : shown.join(', ');
}
