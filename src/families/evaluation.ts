import type { CalibrationBin, ClassFigures, Confusion, Mistake, ModelEvaluation } from '../models/index.js';

/** Bins of confidence, as in Guo et al. 2017. */
const BINS = 15;

const PLOTTED_BINS = 10;

export interface Decision {
  readonly confidence: number;
  readonly right: boolean;
}

/** Naeini et al. 2015: the mean over all decisions of |accuracy − confidence| of their bin. 0 is perfect. */
export function expectedCalibrationError(decisions: readonly Decision[]): number {
  const excess = new Float64Array(BINS);
  for (const { confidence, right } of decisions) {
    const bin = Math.min(BINS - 1, Math.floor(confidence * BINS));
    excess[bin] = (excess[bin] ?? 0) + (right ? 1 : 0) - confidence;
  }
  const total = excess.reduce((sum, each) => sum + Math.abs(each), 0);
  return total / Math.max(1, decisions.length);
}

/** Confidence and accuracy in ten equal parts of [0, 1], by rising confidence; parts without decisions are left out. */
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

/** 0 where there is nothing to divide by. @param right given and true; wrong: given only; missed: true only */
export function figuresOf(right: number, wrong: number, missed: number): Omit<ClassFigures, 'label'> {
  return {
    precision: share(right, right + wrong),
    recall: share(right, right + missed),
    f1: share(2 * right, 2 * right + wrong + missed),
    support: right + missed,
  };
}

/** The mean F1 of the classes that occur in the rows or the answers, as in scikit-learn; of a multilabel model, of all labels. */
export function macroF1Of({ classes = [], confusion }: Pick<ModelEvaluation, 'classes' | 'confusion'>): number {
  const predicted = (label: string) => {
    const column = confusion?.labels.indexOf(label) ?? -1;
    return confusion?.counts.some((row) => (row[column] ?? 0) > 0) ?? true;
  };
  const occurring = classes.filter(({ label, support }) => support > 0 || predicted(label));
  return share(
    occurring.reduce((sum, { f1 }) => sum + f1, 0),
    occurring.length,
  );
}

/** z of the normal distribution for 95 %. */
const Z = 1.96;

/**
 * The 95 % interval of an accuracy, or another share, that was measured on this number of rows (Wilson 1927). It holds for few rows, and for shares of 0
 * and 1.
 */
export function accuracyInterval(share: number, rows: number): { readonly low: number; readonly high: number } {
  if (rows === 0) return { low: 0, high: 1 };
  const shrink = 1 + Z ** 2 / rows;
  const middle = (share + Z ** 2 / (2 * rows)) / shrink;
  const half = (Z * Math.sqrt((share * (1 - share)) / rows + Z ** 2 / (4 * rows ** 2))) / shrink;
  return { low: Math.max(0, middle - half), high: Math.min(1, middle + half) };
}

/** 0 of nothing. */
export function share(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}

export interface JudgedLabels {
  readonly text: string;
  /** Of a pair. */
  readonly text2?: string | undefined;
  readonly actual: readonly string[];
  readonly predicted: readonly string[];
}

/** Its score is the highest probability of a wrong label or, if labels are only missing, that one is absent. */
export function labelMistake(
  { text, text2, actual, predicted }: JudgedLabels,
  probabilityOf: (label: string) => number,
): Mistake[] {
  const wrong = predicted.filter((label) => !actual.includes(label));
  const missed = actual.filter((label) => !predicted.includes(label));
  if (wrong.length + missed.length === 0) return [];
  const scores = wrong.length > 0 ? wrong.map(probabilityOf) : missed.map((label) => 1 - probabilityOf(label));
  const texts = { text, ...(text2 !== undefined && { text2 }) };
  return [{ ...texts, expected: [...actual], predicted: [...predicted], score: Math.max(...scores) }];
}

/** How often which label was taken for which, where each text has one. Other labels than these are left out. */
export function confusionOf(
  labels: readonly string[],
  judged: Iterable<Pick<JudgedLabels, 'actual' | 'predicted'>>,
): Confusion {
  const ids = new Map(labels.map((label, id) => [label, id]));
  const counts = labels.map(() => labels.map(() => 0));
  for (const { actual, predicted } of judged) {
    const row = counts[ids.get(actual[0] ?? '') ?? -1];
    const column = ids.get(predicted[0] ?? '') ?? -1;
    if (row?.[column] !== undefined) row[column] += 1;
  }
  return { labels: [...labels], counts };
}
