import type { Steps } from '../system/index.js';

interface FittedNumber {
  /** Where fitting starts, and what the number is pulled towards where there are few rows. */
  readonly start: number;
  readonly scale: number;
  readonly least: number;
}

/** First and second derivative of the summed log-loss by one of the numbers. */
export interface Derivatives {
  readonly slope: number;
  readonly curvature: number;
}

/** The pull towards the start, in rows of evidence. */
const PRIOR_ROWS = 5;
const MAX_SWEEPS = 60;
/** A sweep that moves no number by more than this ends the fit. */
const TOLERANCE = 1e-4;

/**
 * Newton steps go through the numbers one at a time; as the loss is convex, that finds the optimum in spite of the
 * bounds. A step is at most as long as the number itself or 1: far from the optimum, a full step would overshoot.
 */
export function* newtonFit(
  numbers: readonly FittedNumber[],
  derivatives: (values: readonly number[], at: number) => Steps<Derivatives>,
): Steps<readonly number[]> {
  const values = numbers.map(({ start }) => start);
  for (let sweep = 0; sweep < MAX_SWEEPS; sweep += 1) {
    let moved = 0;
    for (const [at, { start, scale, least }] of numbers.entries()) {
      const before = values[at] ?? 0;
      const { slope, curvature } = yield* derivatives(values, at);
      const stiffness = PRIOR_ROWS / scale ** 2;
      const step = -(slope + stiffness * (before - start)) / (curvature + stiffness);
      const longest = Math.max(1, Math.abs(before));
      const after = Math.max(least, before + Math.min(longest, Math.max(-longest, step)));
      values[at] = after;
      moved = Math.max(moved, Math.abs(after - before));
    }
    if (moved < TOLERANCE) break;
  }
  return values;
}
