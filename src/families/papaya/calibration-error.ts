/** Bins of confidence, as in Guo et al. 2017. */
const BINS = 15;

/** One decision: how sure the model was, and whether it was right. */
export interface Decision {
  readonly confidence: number;
  readonly right: boolean;
}

/**
 * Expected calibration error (Naeini et al. 2015): the mean over all decisions of |accuracy − confidence| of their bin,
 * bins being 15 equal parts of [0, 1]. 0 is perfect.
 */
export function expectedCalibrationError(decisions: readonly Decision[]): number {
  const excess = new Float64Array(BINS);
  for (const { confidence, right } of decisions) {
    const bin = Math.min(BINS - 1, Math.floor(confidence * BINS));
    excess[bin] = (excess[bin] ?? 0) + (right ? 1 : 0) - confidence;
  }
  const total = excess.reduce((sum, each) => sum + Math.abs(each), 0);
  return total / Math.max(1, decisions.length);
}
