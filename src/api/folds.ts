import type { Random } from '../system/index.js';
import type { Example } from './evaluate.js';

/** How rows are divided into folds: which rows must stay together, and which fold each of these units goes to. */

/** Rows that stay together, such as those with one author or one text. */
export interface FoldUnit {
  /** The positions of its rows, from 0. */
  readonly rows: readonly number[];
  /** The labels or entity types of all its rows, with repetitions. */
  readonly labels: readonly string[];
}

/**
 * Rows with the same text, ignoring case and spacing, form one unit; otherwise a model would be evaluated on texts that it
 * was trained on. So do rows of the same group.
 * @param groups the group of each row, if there are any.
 */
export function unitsOf(rows: readonly Example[], groups: readonly string[] | undefined): FoldUnit[] {
  const sets = new DisjointSets(rows.length);
  const joinEqual = (keys: readonly string[]) => {
    const first = new Map<string, number>();
    for (const [row, key] of keys.entries()) {
      const earlier = first.get(key);
      if (earlier === undefined) first.set(key, row);
      else sets.join(earlier, row);
    }
  };
  joinEqual(rows.map(({ text }) => text.toLowerCase().replace(/\s+/g, ' ').trim()));
  if (groups !== undefined) joinEqual(groups);
  const units = new Map<number, { rows: number[]; labels: string[] }>();
  for (const [row, { labels, entities }] of rows.entries()) {
    const root = sets.rootOf(row);
    const unit = units.get(root) ?? { rows: [], labels: [] };
    unit.rows.push(row);
    unit.labels.push(...labels, ...entities.map(({ type }) => type));
    units.set(root, unit);
  }
  return [...units.values()];
}

/** Sets of rows that can be joined (union-find with path halving). */
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

/** The counts of labels and rows in a fold so far. */
interface Fold {
  readonly labels: Map<string, number>;
  rows: number;
}

/**
 * The fold of each unit, from 0, by iterative stratification (Sechidis, Tsoumakas & Vlahavas 2011): the rarest label is
 * distributed first, each unit to the fold that has the fewest of it. For single rows with one label each this is a
 * stratified k-fold: the count of each label differs by at most 1 between folds, and so do the sizes.
 * @param folds at most the number of units.
 */
export function assignFolds(units: readonly FoldUnit[], folds: number, random: Random): Int32Array {
  const foldOf = new Int32Array(units.length).fill(-1);
  const all = Array.from({ length: folds }, (): Fold => ({ labels: new Map(), rows: 0 }));
  // Larger units first, since there is less room for them later; equal ones in random order.
  const order = random
    .shuffle(units.keys())
    .sort((a, b) => (units[b]?.rows.length ?? 0) - (units[a]?.rows.length ?? 0));
  const place = (at: number, label: string | undefined) => {
    const unit = units[at];
    if (unit === undefined || foldOf[at] !== -1) return;
    const fold = emptiest(all, label);
    foldOf[at] = fold;
    add(all[fold], unit);
  };
  for (const { label, holders } of rarestFirst(units, order, foldOf)) for (const at of holders) place(at, label);
  for (const at of order) place(at, undefined);
  return foldOf;
}

function add(fold: Fold | undefined, { rows, labels }: FoldUnit): void {
  if (fold === undefined) return;
  fold.rows += rows.length;
  for (const label of labels) fold.labels.set(label, (fold.labels.get(label) ?? 0) + 1);
}

/** The fold with the fewest of a label; among equals, the one with the fewest rows. */
function emptiest(folds: readonly Fold[], label: string | undefined): number {
  const countIn = (fold: Fold) => (label === undefined ? 0 : (fold.labels.get(label) ?? 0));
  let best = 0;
  for (const [at, fold] of folds.entries()) {
    const leader = folds[best];
    if (leader === undefined) continue;
    const lead = countIn(fold) - countIn(leader) || fold.rows - leader.rows;
    if (lead < 0) best = at;
  }
  return best;
}

interface Stratum {
  readonly label: string;
  /** Units with this label that are not in a fold yet. */
  readonly holders: readonly number[];
}

/** Repeatedly, the label that the fewest remaining units have. */
function* rarestFirst(units: readonly FoldUnit[], order: readonly number[], foldOf: Int32Array): Generator<Stratum> {
  const holders = new Map<string, number[]>();
  for (const at of order) {
    for (const label of new Set(units[at]?.labels)) {
      const known = holders.get(label);
      if (known) known.push(at);
      else holders.set(label, [at]);
    }
  }
  while (holders.size > 0) {
    let rarest: Stratum | undefined;
    for (const [label, all] of holders) {
      const left = all.filter((at) => foldOf[at] === -1);
      if (left.length === 0) holders.delete(label);
      else {
        holders.set(label, left);
        if (rarest === undefined || left.length < rarest.holders.length) rarest = { label, holders: left };
      }
    }
    if (rarest !== undefined) yield rarest;
  }
}
