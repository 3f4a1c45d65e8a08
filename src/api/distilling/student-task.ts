import { familyNameOf, type ModelType } from '../../contract/index.js';
import {
  arePairs,
  type CheckedRows,
  counted,
  type EntityRow,
  invalid,
  quoted,
  type RowTable,
  rowsOf,
  type SoftLabelRow,
  someOf,
  type TrainingRow,
} from '../../datasets/index.js';
import { sentenceWithEntities } from '../../families/index.js';
import { mapWithPauses } from '../../system/index.js';
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
export function passagesOf(
  { passages, type }: DistillSettings,
  table: RowTable | undefined,
): readonly string[] | undefined {
  const shape = table?.checked.shape;
  const isRetrieval =
    passages !== undefined || type === 'question-answering' || shape === 'passage' || shape === 'passages';
  if (!isRetrieval) return undefined;
  const all = [...new Set(passages ?? [])];
  if (all.length < 2)
    throw invalid(
      ['passages'],
      `found ${counted(all.length, 'passage')}; give at least two passages that questions are answered from`,
    );
  return all;
}

/** @throws ValidationError if teacher, rows and options don't agree on what the student is to do */
export function taskOf(
  teacher: OpenTeacher,
  passages: readonly string[] | undefined,
  table: RowTable | undefined,
  { type: given, labels: named, temperature }: DistillSettings,
): StudentTask {
  if (table && arePairs(table.checked))
    throw invalid(['rows'], 'the rows are pairs of texts, but `texts` has single texts; leave text2 out');
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
  const stranger =
    kind === 'passages'
      ? undefined
      : [...(ofTeacher ?? []), ...(ofRows ?? [])].find((label) => labels?.includes(label) === false);
  if (stranger !== undefined && kind === 'labels') {
    const whose = ofRows?.includes(stranger) === true ? 'rows have' : `${teacher.name} has`;
    throw invalid(
      [ofRows?.includes(stranger) === true ? 'rows' : 'labels'],
      `${whose} the label ${quoted(stranger)}; the labels are ${someOf((labels ?? []).map(quoted))}`,
    );
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

/** Rows in the one shape that the student learns from. @throws ValidationError for rows of another kind */
export async function rowsFor(
  task: StudentTask,
  { checked, origin }: RowTable,
  signal: AbortSignal | undefined,
): Promise<readonly TrainingRow[]> {
  const { kind, isMultilabel } = task.rules;
  const each = <Row>(rows: readonly Row[], rowOf: (row: Row) => TrainingRow) => mapWithPauses(rows, rowOf, signal);
  const none = task.labels?.[0] ?? '';
  switch (checked.shape) {
    case 'label':
      if (kind === 'labels') return each(checked.rows, ({ label, ...row }) => ({ ...row, labels: { [label]: 1 } }));
      break;
    case 'labels':
      if (kind === 'labels' && isMultilabel) {
        return each(checked.rows, ({ labels, ...row }) => ({
          ...row,
          // A row of probabilities names at least one label.
          labels: labels.length === 0 ? { [none]: 0 } : Object.fromEntries(labels.map((label) => [label, 1])),
        }));
      }
      break;
    case 'soft':
      if (kind === 'labels') return checked.rows;
      break;
    case 'tags':
      if (kind === 'entities') return each(checked.rows, sentenceWithEntities);
      break;
    case 'entities':
      if (kind === 'entities') return checked.rows;
      break;
    case 'passage':
      if (kind === 'passages')
        return each(checked.rows, ({ question, passage }) => ({ question, passages: [passage] }));
      break;
    case 'passages':
      if (kind === 'passages') return checked.rows;
  }
  throw invalid(
    ['rows'],
    `${rowsOf(origin)} don't fit the teacher's answers, which are for ${task.type}; give rows for that type`,
  );
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
