import type { CalibrationBin } from '../model-folder/index.js';

/** Bins of confidence, as in Guo et al. 2017. */
const BINS = 15;

/** Fewer bins for the plot in the report, which must stay readable. */
const PLOTTED_BINS = 10;

/** One decision: how sure the model was, and whether it was right. */
export interface Decision {
  readonly confidence: number;
  readonly right: boolean;
}

/**
 * Expected calibration error (Naeini et al. 2015): the mean over all decisions of |accuracy − confidence| of
 * their bin, bins being 15 equal parts of [0, 1]. 0 is perfect.
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

/**
 * Confidence and accuracy in ten equal parts of [0, 1], by rising confidence; parts without decisions are
 * left out.
 */
export function calibrationBins(decisions: readonly Decision[]): CalibrationBin[] {
  const bins = Array.from({ length: PLOTTED_BINS }, () => ({ confidence: 0, right: 0, rows: 0 }));
  for (const { confidence, right } of decisions) {
    const bin = bins[Math.min(PLOTTED_BINS - 1, Math.floor(confidence * PLOTTED_BINS))];
    if (bin === undefined) continue;
    bin.confidence += confidence;
    bin.right += right ? 1 : 0;
    bin.rows += 1;
  }
  return bins
    .filter(({ rows }) => rows > 0)
    .map(({ confidence, right, rows }) => ({ confidence: confidence / rows, accuracy: right / rows, rows }));
}
