/** The rules on a row, the same for an archive that is read and for one that is written. */
import type { DatasetLocation, ProblemList } from '../../datasets/index.js';
import { quoted } from '../../datasets/index.js';
import { findTextProblem } from '../dataset-text.js';
import { type ColumnRoles, quotedLabels } from './classification-config.js';
import type { ClassificationKind, LocatedRow } from './classification-dataset.js';

/** A row as its source has it, with the labels as they are written there. */
export interface WrittenRow extends DatasetLocation {
  readonly text: string;
  readonly labels: readonly string[];
}

/** How labels are written: as ids in an archive, as names in the source of one. */
export interface LabelNotation {
  idOf(written: string): number | undefined;
  /** What a written label is called: `label id`, `label`. */
  readonly noun: string;
  /** What a written label may be. */
  readonly expected: string;
}

/** Ids of label_id.json, as archives write labels. */
export function idNotation(labels: readonly string[]): LabelNotation {
  return {
    idOf: (written) => {
      const id = /^(0|[1-9]\d{0,8})$/.test(written) ? Number(written) : Number.NaN;
      return id < labels.length ? id : undefined;
    },
    noun: 'label id',
    expected: `an id of label_id.json (0 to ${labels.length - 1})`,
  };
}

/** Names, as sources write labels. */
export function nameNotation(labels: readonly string[]): LabelNotation {
  const ids = new Map(labels.map((label, id) => [label, id]));
  return { idOf: (written) => ids.get(written), noun: 'label', expected: `one of ${quotedLabels(labels)}` };
}

/** What a row is checked against. */
export interface RowRules {
  readonly kind: ClassificationKind;
  /** Named in problems. */
  readonly columns: ColumnRoles;
  readonly notation: LabelNotation;
}

/** @returns the row with label ids, or undefined after adding at least one problem. */
export function checkRow(row: WrittenRow, rules: RowRules, problems: ProblemList): LocatedRow | undefined {
  const { file, line, text } = row;
  const before = problems.total;
  const textProblem = findTextProblem(text);
  if (textProblem) problems.add({ file, line, column: rules.columns.text, ...textProblem });
  const labelIds = checkLabels(row, rules, problems);
  return problems.total === before ? { text, labelIds, file, line } : undefined;
}

function checkLabels({ file, line, labels }: WrittenRow, rules: RowRules, problems: ProblemList): number[] {
  const { kind, notation } = rules;
  const { idOf, noun, expected } = notation;
  const column = rules.columns.label;
  if (kind !== 'multilabel' && labels.length !== 1) {
    const found = labels.length === 0 ? `found no ${noun}` : `found ${labels.length} labels`;
    problems.add({ file, line, column, found, expected: `one label for a ${kind} model` });
  }
  const ids = new Set<number>();
  for (const written of labels) {
    const id = idOf(written);
    const shown =
      written === '' ? `no ${noun}` : `${noun} ${/^\d+$/.test(written) ? written : quoted(written)}`;
    if (id === undefined) problems.add({ file, line, column, found: `found ${shown}`, expected });
    else if (ids.has(id)) {
      problems.add({ file, line, column, found: `found ${shown} twice`, expected: 'every label once' });
    } else ids.add(id);
  }
  return [...ids].sort((a, b) => a - b);
}
