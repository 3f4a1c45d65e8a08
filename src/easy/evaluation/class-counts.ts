import { figuresOf, share } from '../../families/index.js';
import type { ClassFigures } from '../../model-folder/index.js';
import type { AverageFigures } from './evaluation.js';

/** What is right and wrong, class by class. Arrays are [classes]. */
export interface ClassCounts {
  readonly truePositives: Float64Array;
  readonly falsePositives: Float64Array;
  readonly falseNegatives: Float64Array;
}

/** One example: its classes, and those that the model gave it, by their numbers. An entity is there once for each place. */
export interface JudgedClasses {
  readonly right: readonly number[];
  readonly wrong: readonly number[];
  readonly missed: readonly number[];
}

/** @param times how often each row counts; default: once. [rows] */
export function countClasses(
  rows: readonly JudgedClasses[],
  classes: number,
  times?: Int32Array,
): ClassCounts {
  const counts = {
    truePositives: new Float64Array(classes),
    falsePositives: new Float64Array(classes),
    falseNegatives: new Float64Array(classes),
  };
  for (const [at, { right, wrong, missed }] of rows.entries()) {
    const weight = times === undefined ? 1 : (times[at] ?? 0);
    if (weight === 0) continue;
    add(counts.truePositives, right, weight);
    add(counts.falsePositives, wrong, weight);
    add(counts.falseNegatives, missed, weight);
  }
  return counts;
}

function add(counts: Float64Array, classes: readonly number[], weight: number): void {
  for (const each of classes) counts[each] = (counts[each] ?? 0) + weight;
}

/** The figures of each class; 0 where there is nothing to divide by. */
export function figuresOfClasses(names: readonly string[], counts: ClassCounts): ClassFigures[] {
  return names.map((label, at) => ({
    label,
    ...figuresOf(
      counts.truePositives[at] ?? 0,
      counts.falsePositives[at] ?? 0,
      counts.falseNegatives[at] ?? 0,
    ),
  }));
}

/** Whether a class occurs at all. */
export function occurs(counts: ClassCounts, at: number): boolean {
  const { truePositives, falsePositives, falseNegatives } = counts;
  return (truePositives[at] ?? 0) + (falsePositives[at] ?? 0) + (falseNegatives[at] ?? 0) > 0;
}

/** Averages over classes: all decisions alike, all classes alike, or classes by their support. */
export function averagesOf(
  counts: ClassCounts,
  classes: readonly AverageFigures[],
): { micro: AverageFigures; macro: AverageFigures; weighted: AverageFigures } {
  const { truePositives, falsePositives, falseNegatives } = counts;
  return {
    micro: figuresOf(sum(truePositives), sum(falsePositives), sum(falseNegatives)),
    macro: meanOf(classes, () => 1),
    weighted: meanOf(classes, ({ support }) => support),
  };
}

function meanOf(
  classes: readonly AverageFigures[],
  weightOf: (figures: AverageFigures) => number,
): AverageFigures {
  const total = classes.reduce((all, each) => all + weightOf(each), 0);
  const mean = (field: 'precision' | 'recall' | 'f1') =>
    share(
      classes.reduce((all, each) => all + weightOf(each) * each[field], 0),
      total,
    );
  return {
    precision: mean('precision'),
    recall: mean('recall'),
    f1: mean('f1'),
    support: classes.reduce((all, { support }) => all + support, 0),
  };
}

function sum(values: Float64Array): number {
  return values.reduce((total, value) => total + value, 0);
}
