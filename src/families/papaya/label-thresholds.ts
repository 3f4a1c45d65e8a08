import { mapSteps, type Steps } from '../../pauses.js';
import { figuresOfCounts, type LabelCounts } from './classification-scores.js';

/** Probabilities of [rows, labels] and which of them should be on. */
export interface LabelRows {
  readonly labels: number;
  readonly probabilities: Float64Array;
  /** 1 where a label should be on, else 0. */
  readonly targets: Uint8Array;
}

/**
 * The thresholds to try, 0.007 to 0.95: evenly spaced as logits, since the best ones of rare labels are close
 * to 0.
 */
const candidates = Array.from({ length: 41 }, (_, step) => 1 / (1 + Math.exp(5 - 0.2 * step)));

/** For a label with this many rows, its own F1 and the mean over all labels count the same. */
const PRIOR_ROWS = 20;

/**
 * For each label, the threshold with the best F1. Rare labels follow what is best for all labels together:
 * the F1 of a label with n rows has the weight n, the mean over all labels the weight {@link PRIOR_ROWS}.
 */
export function* labelThresholds(rows: LabelRows): Steps<number[]> {
  const curves: F1Curve[] = [];
  for (let label = 0; label < rows.labels; label += 1) curves.push(yield* f1Curve(rows, label));
  const shared = candidates.map(
    (_, at) => curves.reduce((sum, { f1s }) => sum + (f1s[at] ?? 0), 0) / Math.max(1, rows.labels),
  );
  return curves.map(({ positives, f1s }) => {
    const merits = f1s.map((f1, at) => positives * f1 + PRIOR_ROWS * (shared[at] ?? 0));
    return candidates[merits.indexOf(Math.max(...merits))] ?? 0.5;
  });
}

interface F1Curve {
  /** Rows that have the label. */
  readonly positives: number;
  /** F1 at each candidate threshold. */
  readonly f1s: readonly number[];
}

function* f1Curve({ labels, probabilities, targets }: LabelRows, label: number): Steps<F1Curve> {
  const on: number[] = [];
  const off: number[] = [];
  for (let at = label; at < targets.length; at += labels) {
    (targets[at] === 1 ? on : off).push(probabilities[at] ?? 0);
  }
  const f1s = yield* mapSteps(candidates, (threshold) => {
    const truePositive = on.filter((probability) => probability > threshold).length;
    const counts: LabelCounts = {
      truePositive,
      falsePositive: off.filter((probability) => probability > threshold).length,
      falseNegative: on.length - truePositive,
    };
    return figuresOfCounts(counts).f1;
  });
  return { positives: on.length, f1s };
}
