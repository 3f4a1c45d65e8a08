import type { InferenceResult } from '../../contract/index.js';
import type { Evidence } from '../../models/index.js';
import { softmax } from '../softmax.js';
import type { Link } from './classification-dataset.js';

/** A multilabel model predicts the labels whose probability is above this. */
const SIGMOID_THRESHOLD = 0.5;

interface Reading {
  readonly link: Link;
  /** The number of labels. A binary model has two, but a single logit, which is the second label's. */
  readonly labels: number;
  /** How far the probabilities are to be trusted, 0 to 1: see {@link heldBack}. Default 1. */
  readonly trust?: number | undefined;
}

export function labelProbabilities(logits: Float32Array, { link, labels, trust = 1 }: Reading): Float64Array {
  if (link === 'softmax') return heldBack(softmax(logits), { trust, independent: false });
  const probabilities = new Float64Array(logits.length);
  for (let at = 0; at < logits.length; at += 1) probabilities[at] = sigmoid(logits[at] ?? 0);
  if (!isBinary(logits, labels)) return heldBack(probabilities, { trust, independent: true });
  const [yes = 0] = probabilities;
  return heldBack(Float64Array.of(1 - yes, yes), { trust, independent: false });
}

/** The labels that a model predicts: every one above the threshold if it is multilabel, else the most probable. */
export function predictedLabels(logits: Float32Array, reading: Reading): number[] {
  const isMultilabel = reading.link === 'sigmoid' && !isBinary(logits, reading.labels);
  return labelsOfProbabilities(labelProbabilities(logits, reading), isMultilabel);
}

export function labelsOfProbabilities(probabilities: Float64Array, isMultilabel: boolean): number[] {
  if (isMultilabel) return [...probabilities.keys()].filter((label) => (probabilities[label] ?? 0) > SIGMOID_THRESHOLD);
  return [probabilities.indexOf(Math.max(...probabilities))];
}

function isBinary(logits: Float32Array, labels: number): boolean {
  return logits.length === 1 && labels === 2;
}

export function classificationResult(
  logits: Float32Array,
  labels: readonly string[],
  link: Link,
  trust = 1,
): InferenceResult {
  const probabilities = labelProbabilities(logits, { link, labels: labels.length, trust });
  const result: InferenceResult = { labels: [], scores: [] };
  for (const id of [...labels.keys()].sort((a, b) => (probabilities[b] ?? 0) - (probabilities[a] ?? 0))) {
    result.labels.push(labels[id] ?? '');
    result.scores.push(probabilities[id] ?? 0);
  }
  return result;
}

export const sigmoid = (logit: number): number => 1 / (1 + Math.exp(-logit));

/** Rows that every label gets an equal share of: what is known before any row is. */
const PRIOR_ROWS = 2;
/** This share of the dev rows may have less than the coverage from which a text counts as known. */
const UNUSUAL = 0.05;
/** This share of the dev rows that were answered rightly may have a score below the threshold of none. */
const WITHHELD = 0.05;

/**
 * How much scores are to be trusted, 0 to 1: rows / (rows + 2), the rule of succession with two rows of a prior
 * (Laplace 1814), times the text's coverage where that is less than dev rows have.
 * @param coverage the share of its n-grams that were seen in training
 */
export function trustIn({ rows, coverage: usual }: Omit<Evidence, 'none_below'>, coverage: number): number {
  return (rows / (rows + PRIOR_ROWS)) * (coverage < usual ? coverage / usual : 1);
}

interface Trust {
  readonly trust: number;
  /** Whether each is a yes or no of its own: then those that say no stay, as labels are rare. */
  readonly independent: boolean;
}

/** Draws probabilities back to where all labels are alike. Their order stays; independent ones stay above ½. */
export function heldBack(probabilities: Float64Array, { trust, independent }: Trust): Float64Array {
  if (trust === 1) return probabilities;
  const prior = independent ? 0.5 : 1 / probabilities.length;
  const drawn = new Float64Array(probabilities.length);
  for (let at = 0; at < drawn.length; at += 1) {
    const each = probabilities[at] ?? 0;
    drawn[at] = independent && each <= prior ? each : prior + trust * (each - prior);
  }
  return drawn;
}

export interface AnsweredRow {
  readonly coverage: number;
  /** Highest score, before it was held back; undefined where the answer is wrong. */
  readonly rightly: number | undefined;
}

/**
 * The threshold of none lets nineteen of twenty right answers through (Hendrycks & Gimpel 2017, "A Baseline for
 * Detecting Misclassified and Out-of-Distribution Examples in Neural Networks", at a true positive rate of 95 %).
 */
export function fitEvidence(rows: readonly AnsweredRow[], labels: number, independent: boolean): Evidence {
  const known = {
    rows: Math.max(1, rows.length),
    coverage: quantile(
      rows.map(({ coverage }) => coverage),
      UNUSUAL,
    ),
  };
  if (independent) return { ...known, none_below: 0.5 };
  const prior = 1 / labels;
  const scores = rows.flatMap(({ rightly, coverage }) =>
    rightly === undefined ? [] : [prior + trustIn(known, coverage) * (rightly - prior)],
  );
  return { ...known, none_below: Math.max(prior, quantile(scores, WITHHELD)) };
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(share * sorted.length)] ?? 0;
}
