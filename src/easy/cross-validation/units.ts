/** Rows as units that must not be torn apart. */
import type { CheckedRows, TaggedRow } from '../rows/index.js';
import { sentenceWithEntities } from '../rows/index.js';
import type { FoldUnit } from './folds.js';

/** What is asked about each row: its text, or its question. */
export function textsOf(checked: CheckedRows): readonly string[] {
  switch (checked.shape) {
    case 'label':
    case 'labels':
    case 'entities':
      return checked.rows.map(({ text }) => text);
    case 'tags':
      return checked.rows.map((row: TaggedRow) => sentenceWithEntities(row).text);
    case 'passage':
    case 'passages':
      return checked.rows.map(({ question }) => question);
  }
}

/** The labels of each row, or the types of its entities, each as often as it has it; none for questions. */
export function labelsOf(checked: CheckedRows): readonly (readonly string[])[] {
  switch (checked.shape) {
    case 'label':
      return checked.rows.map(({ label }) => [label]);
    case 'labels':
      return checked.rows.map(({ labels }) => labels);
    case 'entities':
      return checked.rows.map(({ entities }) => entities.map(({ type }) => type));
    case 'tags':
      return checked.rows.map((row) => sentenceWithEntities(row).entities.map(({ type }) => type));
    case 'passage':
    case 'passages':
      return checked.rows.map(() => []);
  }
}

/** The rows at some positions, in their order. */
export function rowsAt(checked: CheckedRows, positions: ReadonlySet<number>): CheckedRows {
  const of = <Row>(rows: readonly Row[]): readonly Row[] => rows.filter((_, at) => positions.has(at));
  switch (checked.shape) {
    case 'label':
      return { shape: checked.shape, rows: of(checked.rows) };
    case 'labels':
      return { shape: checked.shape, rows: of(checked.rows) };
    case 'tags':
      return { shape: checked.shape, rows: of(checked.rows) };
    case 'entities':
      return { shape: checked.shape, rows: of(checked.rows) };
    case 'passage':
      return { shape: checked.shape, rows: of(checked.rows) };
    case 'passages':
      return { shape: checked.shape, rows: of(checked.rows) };
  }
}

/**
 * Rows of one group are one unit, and so are rows with the same text, case and spacing aside: else a fold would be tested
 * on what its model has seen.
 * @param groups of each row, if there are any.
 */
export function unitsOf(checked: CheckedRows, groups: readonly string[] | undefined): FoldUnit[] {
  const labels = labelsOf(checked);
  const sets = new DisjointSets(labels.length);
  const keep = (keys: readonly string[]) => {
    const first = new Map<string, number>();
    for (const [row, key] of keys.entries()) {
      const earlier = first.get(key);
      if (earlier === undefined) first.set(key, row);
      else sets.join(earlier, row);
    }
  };
  keep(textsOf(checked).map(folded));
  if (groups !== undefined) keep(groups);
  const units = new Map<number, { rows: number[]; labels: string[] }>();
  for (const [row, own] of labels.entries()) {
    const root = sets.rootOf(row);
    const unit = units.get(root) ?? { rows: [], labels: [] };
    unit.rows.push(row);
    unit.labels.push(...own);
    units.set(root, unit);
  }
  return [...units.values()];
}

function folded(text: string): string {
  return text.toLowerCase().replace(/\s+/g, ' ').trim();
}

/** Sets of rows that grow together (union-find, with path halving). */
class DisjointSets {
  readonly #parents: Int32Array;

  constructor(size: number) {
    this.#parents = Int32Array.from({ length: size }, (_, at) => at);
  }

  rootOf(row: number): number {
    let at = row;
    for (;;) {
      const parent = this.#parents[at] ?? at;
      if (parent === at) return at;
      const above = this.#parents[parent] ?? parent;
      this.#parents[at] = above;
      at = above;
    }
  }

  /** The earlier row becomes the root. */
  join(one: number, other: number): void {
    const [a, b] = [this.rootOf(one), this.rootOf(other)];
    this.#parents[Math.max(a, b)] = Math.min(a, b);
  }
}
