/**
 * Which rows are tested together: stratified, so that each fold has its share of each label. By iterative stratification
 * (Sechidis, Tsoumakas & Vlahavas 2011), whose rule for rows of several labels serves all: the rarest label is dealt out
 * first, each row to the fold that has the fewest of it. Rows with one label each are dealt as in a stratified k-fold.
 */
import type { Random } from '../../random.js';

/** Rows that stay together, such as those of one author or with one text. */
export interface FoldUnit {
  /** Positions of its rows, from 0. */
  readonly rows: readonly number[];
  /** The labels of its rows, each as often as they have it. */
  readonly labels: readonly string[];
}

/** How many of each label, and of rows, a fold has so far. */
interface Fold {
  readonly labels: Map<string, number>;
  rows: number;
}

/**
 * The fold of each unit, from 0. Where units are single rows with one label each, the counts of a label differ by 1 at most
 * from fold to fold, and so do the sizes.
 * @param folds at most as many as there are units.
 */
export function assignFolds(units: readonly FoldUnit[], folds: number, random: Random): Int32Array {
  const foldOf = new Int32Array(units.length).fill(-1);
  const all = Array.from({ length: folds }, (): Fold => ({ labels: new Map(), rows: 0 }));
  // Larger units first, since there is less room for them later; among equals, chance decides.
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
  for (const { label, holders } of rarestFirst(units, order, foldOf))
    for (const at of holders) place(at, label);
  for (const at of order) place(at, undefined);
  return foldOf;
}

function add(fold: Fold | undefined, { rows, labels }: FoldUnit): void {
  if (fold === undefined) return;
  fold.rows += rows.length;
  for (const label of labels) fold.labels.set(label, (fold.labels.get(label) ?? 0) + 1);
}

/** The fold with the fewest of a label and, among these, the fewest rows. */
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
  /** Units that have it and are in no fold yet. */
  readonly holders: readonly number[];
}

/** Again and again, the label that the fewest of the units that are left have. */
function* rarestFirst(
  units: readonly FoldUnit[],
  order: readonly number[],
  foldOf: Int32Array,
): Generator<Stratum> {
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
