/** Draws of one random group: a mask takes whole groups, so that none is used twice. */
const GROUP = 32;

/** Dropout rates are multiples of 1 / this: a draw has 16 bits. */
const LEVELS = 65_536;

/** Where the stream of dropout draws stands: all there is to store in a checkpoint. */
export interface DropoutState {
  /** Whole number from 0 to 2^32 − 1. */
  readonly seed: number;
  /** Groups of 32 draws already used. */
  readonly position: number;
}

/** The state after a mask of `count` elements. */
export function advanceDropout(state: DropoutState, count: number): DropoutState {
  return { seed: state.seed, position: state.position + Math.ceil(count / GROUP) };
}

/**
 * A rate as the kernel applies it: an element is dropped where its 16-bit draw is below `threshold`, so with
 * probability threshold / 65,536, the multiple nearest to the rate. `kept` is the reciprocal of the chance of being
 * kept under that same multiple, so that a mask's expected value is 1 exactly (but for rounding to f32).
 * @throws RangeError unless 0 ≤ rate < 1 once rounded.
 */
export function quantizeDropoutRate(rate: number): { threshold: number; kept: number } {
  const threshold = Math.round(rate * LEVELS);
  if (!(threshold >= 0 && threshold < LEVELS)) {
    throw new RangeError(`dropout rate ${rate}: it must be at least 0 and below 1`);
  }
  return { threshold, kept: LEVELS / (LEVELS - threshold) };
}
