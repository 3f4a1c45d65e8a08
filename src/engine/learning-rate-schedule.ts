export interface LinearSchedule {
  /** The highest rate, reached at the end of the warm-up. */
  readonly peak: number;
  /** Optimizer steps of the whole training. */
  readonly totalSteps: number;
  /** Share of the steps that warm up, 0 to 1; rounded up to whole steps. Default 0.1. */
  readonly warmupFraction?: number;
}

/**
 * Linear warm-up to the peak, then linear decay to 0 (Devlin et al. 2019, appendix A.2). No step has rate 0:
 * the first has peak / (warm-up steps), the last peak / (decay steps).
 * @param step counted from 0; the rate is 0 from `totalSteps` on.
 */
export function linearLearningRate(
  step: number,
  { peak, totalSteps, warmupFraction = 0.1 }: LinearSchedule,
): number {
  const warmupSteps = Math.ceil(totalSteps * warmupFraction);
  if (step < warmupSteps) return (peak * (step + 1)) / warmupSteps;
  return peak * Math.max(0, (totalSteps - step) / (totalSteps - warmupSteps || 1));
}
