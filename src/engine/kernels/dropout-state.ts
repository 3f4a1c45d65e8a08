/** Draws in a random group. A mask uses whole groups, so that no draw is used twice. */
const GROUP = 32;

/** Dropout rates are multiples of 1 / this: a draw has 16 bits. */
const LEVELS = 65_536;

/** Position in the stream of dropout draws, which is all that a checkpoint needs of it. */
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
 * A dropout rate as the kernel applies it. An element is dropped if its 16-bit draw is below `threshold`: the
 * chance of that is threshold / 65,536, the multiple of 1 / 65,536 nearest to the rate. Elements that are
 * kept become `kept`, the reciprocal of their chance to be kept, so that a mask's expected value is exactly 1
 * (but for rounding to f32).
 * @throws RangeError unless 0 ≤ rate < 1 once rounded.
 */
export function quantizeDropoutRate(rate: number): { threshold: number; kept: number } {
  const threshold = Math.round(rate * LEVELS);
  if (!(threshold >= 0 && threshold < LEVELS)) {
    throw new RangeError(`dropout rate ${rate}: it must be at least 0 and below 1`);
  }
  return { threshold, kept: LEVELS / (LEVELS - threshold) };
}
