import { mapSteps, type Steps } from '../../pauses.js';
import type { Decision } from '../calibration-error.js';
import { softmax } from '../softmax.js';
import { sigmoid } from './classification-decoder.js';
import { heldBack } from './evidence.js';
import type { Link } from './link.js';

/** The truth that logits are compared with. */
export interface DecisionRows {
  readonly link: Link;
  readonly outputs: number;
  /** 1 where an output should be on, else 0. [rows, outputs] */
  readonly targets: Uint8Array;
  /** How far each row's probabilities are to be trusted. [rows] Default: they are as they are. */
  readonly trust?: Float64Array | undefined;
}

/**
 * Softmax: one decision per row, with the probability of the most probable label. Sigmoid: one per row and
 * output, with the probability of the yes or no.
 * @param logits [rows, outputs]
 */
export function* decisionsOf(
  { link, outputs, targets, trust }: DecisionRows,
  logits: Float32Array,
): Steps<Decision[]> {
  if (link === 'sigmoid') {
    return yield* mapSteps(logits, (value, at) => {
      const held = { trust: trust?.[Math.floor(at / outputs)] ?? 1, independent: outputs > 1 };
      const plain = sigmoid(value);
      const [probability = plain] = heldBack(Float64Array.of(plain, 1 - plain), held);
      const yes = probability > 0.5;
      return { confidence: yes ? probability : 1 - probability, right: yes === (targets[at] === 1) };
    });
  }
  return yield* mapSteps(new Array(logits.length / outputs).keys(), (row) => {
    const plain = softmax(logits.subarray(row * outputs, (row + 1) * outputs));
    const probabilities = heldBack(plain, { trust: trust?.[row] ?? 1, independent: false });
    const confidence = Math.max(...probabilities);
    return { confidence, right: targets[row * outputs + probabilities.indexOf(confidence)] === 1 };
  });
}
