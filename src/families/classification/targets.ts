import type { LossTargets } from '../../engine/index.js';
import type { Graph, Tensor, TensorData } from '../../graph/index.js';
import type { ClassWeights, ExpertTarget } from '../../lexical/index.js';
import { fillTargets } from '../cross-entropy.js';
import type { ClassificationKind, LabelledText, Link } from './classification-dataset.js';

/** What the loss of a classifier compares its logits with. */

/** The outputs that should be on for a row; the one output of a binary model is on for the second label. */
export function activeOutputs(kind: ClassificationKind, labelIds: readonly number[]): readonly number[] {
  if (kind !== 'binary') return labelIds;
  return labelIds.includes(1) ? [0] : [];
}

/** What the outputs of a row should be: one that isn't certain has `shares` of them. */
export function targetOf(
  kind: ClassificationKind,
  { labelIds, shares, weight }: Omit<LabelledText, 'text' | 'line'>,
): ExpertTarget {
  return {
    active: activeOutputs(kind, labelIds),
    ...(shares && { shares: kind === 'binary' ? shares.slice(1) : shares }),
    ...(weight !== undefined && { weight }),
  };
}

/** What answers are compared with. */
export interface Truth {
  /** 1 where an output should be on. [rows, outputs] */
  readonly targets: Uint8Array;
  /** How probable that is, if some rows say so. [rows, outputs] */
  readonly shares?: Float32Array;
  /** How many times each row counts, if some rows say so. [rows] */
  readonly weights?: Float64Array;
}

export function truthOf(
  { kind, outputs }: { readonly kind: ClassificationKind; readonly outputs: number },
  rows: readonly LabelledText[],
): Truth {
  const all = rows.map((row) => targetOf(kind, row));
  const targets = new Uint8Array(all.length * outputs);
  for (const [row, { active }] of all.entries()) for (const output of active) targets[row * outputs + output] = 1;
  const shares = all.some((row) => row.shares) && Float32Array.from(targets);
  if (shares) for (const [row, own] of all.entries()) if (own.shares) shares.set(own.shares, row * outputs);
  const weights = all.some(({ weight }) => weight !== undefined) && Float64Array.from(all, ({ weight = 1 }) => weight);
  return { targets, ...(shares && { shares }), ...(weights && { weights }) };
}

interface TargetRules {
  readonly link: Link;
  /** Share of a row's target that is spread over all labels evenly (Szegedy et al. 2016). */
  readonly labelSmoothing: number;
  /** For each output. Default: 1 for all. */
  readonly classWeights?: readonly ClassWeights[] | undefined;
  /** What a row counts on average, by {@link meanWeight}, if the rows are a part of those that have weights. Default: that of these rows. */
  readonly meanWeight?: number | undefined;
}

export function lossTargets(rows: readonly ExpertTarget[], outputs: number, rules: TargetRules): LossTargets {
  return rules.link === 'softmax' ? classTargets(rows, outputs, rules) : yesNoTargets(rows, outputs, rules);
}

/**
 * What a row counts on average. In a batch of rows with weights, the sum of losses is divided by its rows times this, so that
 * a heavy row counts as much in a light batch as in a heavy one.
 * @returns undefined if no row has a weight
 */
export function meanWeight(
  rows: readonly ExpertTarget[],
  { link, classWeights }: Pick<TargetRules, 'link' | 'classWeights'>,
): number | undefined {
  if (rows.every(({ weight }) => weight === undefined)) return undefined;
  return rows.reduce((sum, row) => sum + countOf(row, link, classWeights), 0) / rows.length;
}

/** How much a row counts. Sigmoids weight classes output by output. */
function countOf(row: ExpertTarget, link: Link, classWeights: TargetRules['classWeights']): number {
  const { active, shares, weight = 1 } = row;
  if (link === 'sigmoid') return weight;
  if (shares === undefined) return weight * (classWeights?.[active[0] ?? 0]?.active ?? 1);
  return shares.reduce((sum, share, id) => sum + weight * share * (classWeights?.[id]?.active ?? 1), 0);
}

/** One class per row, or a share of each: a row's targets sum to its share of the batch's weight. */
function classTargets(
  given: readonly ExpertTarget[],
  outputs: number,
  { link, labelSmoothing, classWeights, meanWeight: mean }: TargetRules,
): LossTargets {
  const counts = given.map((row) => countOf(row, link, classWeights));
  const total = mean === undefined ? counts.reduce((sum, count) => sum + count, 0) : mean * given.length;
  const targets = new Float32Array(given.length * outputs);
  const certain = given.flatMap(({ active: [id = 0], shares }, row) =>
    shares ? [] : [{ row, id, weight: counts[row] ?? 1 }],
  );
  fillTargets(targets, certain, { classes: outputs, total, labelSmoothing });
  for (const [row, { shares = [], weight = 1 }] of given.entries()) {
    const spread = ((counts[row] ?? 1) * labelSmoothing) / outputs;
    for (const [id, share] of shares.entries()) {
      const own = weight * share * (classWeights?.[id]?.active ?? 1);
      targets[row * outputs + id] = (own * (1 - labelSmoothing) + spread) / total;
    }
  }
  return { feeds: { targets: matrix(targets, outputs) }, weight: total };
}

/** Any number of classes per row: a yes or no for each output, or how probable a yes is, and its weight in the batch. */
function yesNoTargets(
  rows: readonly ExpertTarget[],
  outputs: number,
  { labelSmoothing, classWeights, meanWeight: mean }: TargetRules,
): LossTargets {
  const total = rows.reduce((sum, { weight = 1 }) => sum + weight, 0);
  const divisor = mean === undefined ? total : mean * rows.length;
  const targets = new Float32Array(rows.length * outputs).fill(labelSmoothing / 2);
  const weights = new Float32Array(rows.length * outputs);
  for (const [row, { active, shares, weight = 1 }] of rows.entries()) {
    const place = row * outputs;
    for (let output = 0; output < outputs; output += 1) {
      weights[place + output] = ((classWeights?.[output]?.inactive ?? 1) * weight) / (divisor * outputs);
    }
    const on = shares ? shares.entries() : active.map((output) => [output, 1] as const);
    for (const [output, share] of on) {
      const { active: yes = 1, inactive: no = 1 } = classWeights?.[output] ?? {};
      const own = share * yes + (1 - share) * no;
      targets[place + output] = ((share * yes) / own) * (1 - labelSmoothing) + labelSmoothing / 2;
      weights[place + output] = (own * weight) / (divisor * outputs);
    }
  }
  const feeds = { targets: matrix(targets, outputs), target_weights: matrix(weights, outputs) };
  return { feeds, weight: divisor };
}

function matrix(data: Float32Array, columns: number): TensorData {
  return { type: 'float32', dims: [data.length / columns, columns], data };
}

/** Rows of a rare label count at most this many times. */
const MAX_WEIGHT = 10;

/**
 * √(mean rows per label / rows of this label). Without the root all labels would count the same, but rare ones would be
 * predicted wrongly far too often.
 */
export function balancedWeights(targets: readonly ExpertTarget[], outputs: number): ClassWeights[] {
  const rows = new Float64Array(outputs);
  for (const { active, shares, weight = 1 } of targets) {
    const on = shares ? shares.entries() : active.map((id) => [id, 1] as const);
    for (const [id, share] of on) rows[id] = (rows[id] ?? 0) + share * weight;
  }
  const mean = rows.reduce((sum, each) => sum + each, 0) / outputs;
  return Array.from(rows, (count) => ({
    active: Math.min(MAX_WEIGHT, Math.sqrt(mean / (count || 1))),
    inactive: 1,
  }));
}

/** Weighted binary cross-entropy over every logit: ln(1 + eˣ) − x·target. */
export function sigmoidLoss(graph: Graph, logits: Tensor): Tensor {
  const targets = graph.input('targets', 'float32', logits.shape);
  const weights = graph.input('target_weights', 'float32', logits.shape);
  const terms = graph.subtract(graph.softplus(logits), graph.multiply(logits, targets));
  return graph.reduceSum(graph.multiply(terms, weights), [0, 1]);
}
