export {
  type AnsweredText,
  BASELINE_FILE,
  type Baseline,
  type BaselineVectors,
  drawn,
  type KnownNGrams,
  labelCounts,
  logLength,
  MOST_VECTORS,
  makeBaseline,
  NGramFilter,
  PROBE_TEXT,
  readBaseline,
  requireBaseline,
  requireSameModel,
} from './baseline.js';
export {
  type ComparedMean,
  compare,
  type Drift,
  type DriftInterval,
  type DriftTest,
  type DriftTestName,
  type LabelShift,
  type OddText,
} from './drift.js';
export type { Moments } from './statistics.js';
