import type { InferenceResult } from '../../contract/index.js';
import { softmax } from '../softmax.js';
import { heldBack } from './evidence.js';
import type { Link } from './link.js';

/** A multilabel model predicts the labels whose probability is above this. */
export const SIGMOID_THRESHOLD = 0.5;

/** How a classifier's logits are read. */
export interface Reading {
  readonly link: Link;
  /** The number of labels. A binary model has two, but a single logit, which is the second label's. */
  readonly labels: number;
  /** How far the probabilities are to be trusted, 0 to 1: see {@link heldBack}. Default 1. */
  readonly trust?: number | undefined;
}

/** Probabilities of all labels, by label id. */
export function labelProbabilities(logits: Float32Array, { link, labels, trust = 1 }: Reading): Float64Array {
  if (link === 'softmax') return heldBack(softmax(logits), { trust, independent: false });
  const probabilities = Float64Array.from(logits, sigmoid);
  if (!isBinary(logits, labels)) return heldBack(probabilities, { trust, independent: true });
  const [yes = 0] = probabilities;
  return heldBack(Float64Array.of(1 - yes, yes), { trust, independent: false });
}

/**
 * The labels that a model predicts: every one above the threshold if it is multilabel, else the most
 * probable.
 */
export function predictedLabels(logits: Float32Array, reading: Reading): number[] {
  const probabilities = labelProbabilities(logits, reading);
  if (reading.link === 'sigmoid' && !isBinary(logits, reading.labels)) {
    return [...probabilities.keys()].filter((label) => (probabilities[label] ?? 0) > SIGMOID_THRESHOLD);
  }
  return [probabilities.indexOf(Math.max(...probabilities))];
}

function isBinary(logits: Float32Array, labels: number): boolean {
  return logits.length === 1 && labels === 2;
}

/** The result: every label with its probability, highest first. */
export function classificationResult(
  logits: Float32Array,
  labels: readonly string[],
  link: Link,
  trust = 1,
): InferenceResult {
  const probabilities = labelProbabilities(logits, { link, labels: labels.length, trust });
  const order = labels.map((_, id) => id).sort((a, b) => (probabilities[b] ?? 0) - (probabilities[a] ?? 0));
  return { labels: order.map((id) => labels[id] ?? ''), scores: order.map((id) => probabilities[id] ?? 0) };
}

export const sigmoid = (logit: number): number => 1 / (1 + Math.exp(-logit));
