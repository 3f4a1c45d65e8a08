import { mapSteps, type Steps } from '../../pauses.js';
import type { Decision } from '../calibration-error.js';
import { softmax } from '../softmax.js';
import { sigmoid } from './classification-decoder.js';
import type { Link } from './link.js';

/** The truth that logits are compared with. */
export interface DecisionRows {
  readonly link: Link;
  readonly outputs: number;
  /** 1 where an output should be on, else 0. [rows, outputs] */
  readonly targets: Uint8Array;
}

/**
 * Softmax: one decision per row, with the probability of the most probable label. Sigmoid: one per row and
 * output, with the probability of the yes or no.
 * @param logits [rows, outputs]
 */
export function* decisionsOf(
  { link, outputs, targets }: DecisionRows,
  logits: Float32Array,
): Steps<Decision[]> {
  if (link === 'sigmoid') {
    return yield* mapSteps(logits, (value, at) => {
      const probability = sigmoid(value);
      const yes = probability > 0.5;
      return { confidence: yes ? probability : 1 - probability, right: yes === (targets[at] === 1) };
    });
  }
  return yield* mapSteps(new Array(logits.length / outputs).keys(), (row) => {
    const probabilities = softmax(logits.subarray(row * outputs, (row + 1) * outputs));
    const confidence = Math.max(...probabilities);
    return { confidence, right: targets[row * outputs + probabilities.indexOf(confidence)] === 1 };
  });
}
