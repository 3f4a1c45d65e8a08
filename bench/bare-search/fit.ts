import { rankedPassages } from '../../src/search/index.js';
import type { Asked } from './asked.js';

/** More than Newton's method needs. */
const STEPS = 50;
/** A slight pull towards 0, so that the equations always have one solution. */
const PULL = 1e-6;

/**
 * The logistic regression of whether the first passage answers: intercept, share, lead and nearnessLead, by Newton's method.
 * @param groups each counts the same, however many questions it has.
 */
export function fitted(groups: readonly (readonly Asked[])[]): readonly number[] {
  const rows = groups.flatMap((asked) => asked.map((each) => ({ ...rowOf(each), weight: 1 / asked.length })));
  let weights = [0, 0, 0, 0];
  for (let step = 0; step < STEPS; step += 1) {
    const gradient = weights.map((weight) => PULL * weight);
    const curvature = weights.map((_, row): number[] => weights.map((__, column) => (row === column ? PULL : 0)));
    for (const { values, isRight, weight } of rows) {
      const logit = values.reduce((sum, value, at) => sum + value * (weights[at] ?? 0), 0);
      const probability = 1 / (1 + Math.exp(-logit));
      for (const [at, value] of values.entries()) {
        gradient[at] = (gradient[at] ?? 0) + weight * (probability - (isRight ? 1 : 0)) * value;
        const line = curvature[at];
        for (const [other, second] of values.entries()) {
          if (line === undefined) continue;
          line[other] = (line[other] ?? 0) + weight * probability * (1 - probability) * value * second;
        }
      }
    }
    const change = solved(curvature, gradient);
    weights = weights.map((weight, at) => weight - (change[at] ?? 0));
  }
  return weights;
}

function rowOf({ evidence, right }: Asked) {
  const [best] = rankedPassages(evidence, 1);
  const { share = 0, lead = 0, nearnessLead = 0 } = best?.features ?? {};
  return { values: [1, share, lead, nearnessLead], isRight: best?.id === right };
}

/** Solves matrix · x = values, by Gauss' elimination; the matrix is positive definite. */
function solved(matrix: readonly (readonly number[])[], values: readonly number[]): number[] {
  const rows = matrix.map((row, at) => [...row, values[at] ?? 0]);
  for (const [at, pivot] of rows.entries()) {
    for (const [other, row] of rows.entries()) {
      if (other === at) continue;
      const factor = (row[at] ?? 0) / (pivot[at] ?? 1);
      for (let column = at; column < row.length; column += 1) {
        row[column] = (row[column] ?? 0) - factor * (pivot[column] ?? 0);
      }
    }
  }
  return rows.map((row, at) => (row.at(-1) ?? 0) / (row[at] ?? 1));
}
