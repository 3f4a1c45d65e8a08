import { familyNameOf, type ModelType, type ValidationError } from '../../contract/index.js';
import {
  arePairs,
  type CheckedRows,
  counted,
  type DatasetWarning,
  type EntityRow,
  invalid,
  leftOut,
  ProblemList,
  placeOfField,
  quoted,
  type RowTable,
  rowsOf,
  type SoftLabelRow,
  someOf,
  type TrainingRow,
} from '../../datasets/index.js';
import { sentenceWithEntities } from '../../families/index.js';
import { filterWithPauses, mapWithPauses } from '../../system/index.js';
import { typeOfRows } from '../training/prepare-dataset.js';
import type { DistillSettings } from './distill-options.js';
import type { AnswerRules } from './teacher-answers.js';
import type { OpenTeacher } from './teachers.js';

/** What a student is to do, by its teacher, its rows and the options, and rows in the shape that it learns from. */

/** What the student is to be. */
export interface StudentTask {
  readonly type: ModelType;
  /** Of classifiers, in the order of their ids. Undefined where the answers have to show them. */
  readonly labels: readonly string[] | undefined;
  readonly rules: AnswerRules;
  readonly isMultilabel: boolean;
  readonly passages: readonly string[] | undefined;
}

/** Undefined unless the student is to answer questions. @throws ValidationError if passages are missing */
export function passagesOf({ passages, type }: DistillSettings): readonly string[] | undefined {
  if (passages === undefined && type !== 'question-answering') return undefined;
  const all = [...new Set(passages ?? [])];
  if (all.length < 2) throw missingPassages(all.length);
  return all;
}

function missingPassages(found: number): ValidationError {
  return invalid(
    ['passages'],
    `found ${counted(found, 'passage')}; give at least two passages that questions are answered from`,
  );
}

/** @throws ValidationError if teacher, rows and options don't agree on what the student is to do */
export function taskOf(
  teacher: OpenTeacher,
  passages: readonly string[] | undefined,
  table: RowTable | undefined,
  { type: given, labels: named, temperature }: DistillSettings,
): StudentTask {
  const shape = table?.checked.shape;
  if (passages === undefined && (shape === 'passage' || shape === 'passages')) throw missingPassages(0);
  const found = typeFor(teacher, passages, table, given, named);
  const type = given ?? found;
  const family = familyNameOf[type];
  // Two types name the same task, of entities.
  if (type !== found && !(family === 'Grapefruit' && familyNameOf[found] === family)) {
    throw invalid(
      ['type'],
      `the teacher and the other options ask for a student of type ${found}, not ${type}; leave \`type\` out`,
    );
  }
  if (temperature !== undefined && family === 'Dragonfruit') {
    throw invalid(
      ['temperature'],
      `applies only to classifiers and entities, and the student is a ${type} model; leave \`temperature\` out`,
    );
  }
  if (named !== undefined && family !== 'Papaya')
    throw invalid(['labels'], `applies only to classifiers, not to ${type}; leave \`labels\` out`);
  const isMultilabel = type === 'multilabel-text-classification';
  const kind = family === 'Papaya' ? 'labels' : family === 'Grapefruit' ? 'entities' : 'passages';
  const ofTeacher = teacher.says?.labels;
  const ofRows = table && namesIn(table.checked);
  const labels = named ?? ofTeacher ?? ofRows;
  const stranger = kind === 'labels' ? ofTeacher?.find((label) => labels?.includes(label) === false) : undefined;
  if (stranger !== undefined) {
    const those = someOf((labels ?? []).map(quoted));
    const msg = `the teacher ${teacher.name} also has the label ${quoted(stranger)}; add it to the labels ${those}`;
    throw invalid(['labels'], msg);
  }
  const known = kind === 'labels' ? labels : kind === 'entities' ? ofTeacher : undefined;
  return {
    type,
    labels: kind === 'labels' ? labels : undefined,
    rules: { kind, isMultilabel, labels: known && new Set(known) },
    isMultilabel,
    passages,
  };
}

function typeFor(
  teacher: OpenTeacher,
  passages: readonly string[] | undefined,
  table: RowTable | undefined,
  given: ModelType | undefined,
  labels: readonly string[] | undefined,
): ModelType {
  if (passages !== undefined) return 'question-answering';
  if (teacher.says !== undefined) return teacher.says.type;
  if (given !== undefined) return given;
  if (table !== undefined) return typeOfRows(table, undefined).type;
  if (labels !== undefined)
    return labels.length === 2 ? 'binary-text-classification' : 'multiclass-text-classification';
  throw invalid(['type'], 'the answers do not show the type of the model; give `type`, `labels`, `rows` or `passages`');
}

function namesIn(checked: CheckedRows): readonly string[] | undefined {
  switch (checked.shape) {
    case 'label':
      return [...new Set(checked.rows.map(({ label }) => label))].sort();
    case 'labels':
      return [...new Set(checked.rows.flatMap(({ labels }) => labels))].sort();
    case 'soft':
      return [...new Set(checked.rows.flatMap(({ labels }) => Object.keys(labels)))].sort();
    default:
      return undefined;
  }
}

interface RowsOptions {
  /** The option that the rows were given as. */
  readonly option: 'rows' | 'dev' | 'test';
  readonly skipInvalid: boolean | undefined;
  readonly signal: AbortSignal | undefined;
}

/**
 * Rows in the one shape that the student learns from, and what was left out. @throws ValidationError for rows of another kind,
 * DatasetError for labels that the student doesn't have
 */
export async function rowsFor(
  task: StudentTask,
  table: RowTable,
  { option, skipInvalid, signal }: RowsOptions,
): Promise<{ readonly rows: readonly TrainingRow[]; readonly warnings: readonly DatasetWarning[] }> {
  const { checked, origin } = table;
  if (arePairs(checked))
    throw invalid([option], `${rowsOf(origin)} are pairs of texts, but \`texts\` has single texts; leave text2 out`);
  const shaped = await inShape(task, checked, signal);
  if (shaped === undefined) {
    const msg = `${rowsOf(origin)} don't fit the teacher's answers, which are for ${task.type}; give rows for that type`;
    throw invalid([option], msg);
  }
  const problems = new ProblemList();
  const names = new Set(task.labels);
  const isFitting = (row: TrainingRow, at: number): boolean => {
    const labels = task.labels && isSoft(row) ? Object.keys(row.labels) : [];
    const stranger = labels.find((label) => !names.has(label));
    if (stranger === undefined) return true;
    const place = placeOfField(table, at, checked.shape === 'label' ? 'label' : 'labels');
    const expected = `one of ${someOf([...names].map(quoted))}`;
    problems.add({ ...place, found: `found label ${quoted(stranger)}`, expected });
    return false;
  };
  const rows = await filterWithPauses(shaped, isFitting, signal);
  const { warnings = [] } = table;
  if (problems.total === 0) return { rows, warnings };
  if (!skipInvalid || rows.length === 0) throw problems.toError();
  return { rows, warnings: [...warnings, leftOut(problems.toError(), problems.total)] };
}

/** Undefined for rows of another kind. */
async function inShape(
  task: StudentTask,
  checked: CheckedRows,
  signal: AbortSignal | undefined,
): Promise<readonly TrainingRow[] | undefined> {
  const { kind, isMultilabel } = task.rules;
  const each = <Row>(rows: readonly Row[], rowOf: (row: Row) => TrainingRow) => mapWithPauses(rows, rowOf, signal);
  const none = task.labels?.[0] ?? '';
  switch (checked.shape) {
    case 'label':
      if (kind !== 'labels') return undefined;
      return each(checked.rows, ({ label, ...row }) => ({ ...row, labels: { [label]: 1 } }));
    case 'labels':
      if (kind !== 'labels' || !isMultilabel) return undefined;
      return each(checked.rows, ({ labels, ...row }) => ({
        ...row,
        // A row of probabilities names at least one label.
        labels: labels.length === 0 ? { [none]: 0 } : Object.fromEntries(labels.map((label) => [label, 1])),
      }));
    case 'soft':
      return kind === 'labels' ? checked.rows : undefined;
    case 'tags':
      return kind === 'entities' ? each(checked.rows, sentenceWithEntities) : undefined;
    case 'entities':
      return kind === 'entities' ? checked.rows : undefined;
    case 'passage':
      if (kind !== 'passages') return undefined;
      return each(checked.rows, ({ question, passage }) => ({ question, passages: [passage] }));
    case 'passages':
      return kind === 'passages' ? checked.rows : undefined;
  }
}

/** Rows of {@link rowsFor}, by their shape. */
export function checkedRows({ rules }: StudentTask, rows: readonly TrainingRow[]): CheckedRows {
  if (rules.kind === 'labels') return { shape: 'soft', rows: rows.filter(isSoft) };
  if (rules.kind === 'entities') return { shape: 'entities', rows: rows.filter(isEntityRow) };
  return { shape: 'passages', rows: rows.flatMap((row) => ('question' in row && 'passages' in row ? [row] : [])) };
}

export const isSoft = (row: TrainingRow): row is SoftLabelRow => 'labels' in row && !Array.isArray(row.labels);
const isEntityRow = (row: TrainingRow): row is EntityRow => 'entities' in row;

export function textOf(row: TrainingRow): string {
  if ('question' in row) return row.question;
  return 'text' in row ? row.text : row.tokens.join(' ');
}
