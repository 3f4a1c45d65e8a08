import * as tf from '@tensorflow/tfjs';
import type { TensorData } from '../../src/graph/index.js';

/** What one training step computes. */
export interface Step {
  readonly loss: number;
  readonly gradients: ReadonlyMap<string, Float32Array>;
}

/** ‖a − b‖ of one parameter's gradients may be this share of ‖b‖. */
const TOLERANCE = 1e-5;
/**
 * What ‖a − b‖ may be in any case: attention does not depend on its key biases, whose gradients are rounding
 * noise.
 */
const ZERO_IN_THEORY = 1e-8;

/** The parameters whose gradients are not the expected ones, each compared by itself. */
export function deviating(step: Step, expected: Step): string[] {
  return [...expected.gradients].flatMap(([name, wanted]) => {
    const given = step.gradients.get(name);
    const difference = Math.hypot(...wanted.map((value, at) => (given?.[at] ?? Number.NaN) - value));
    const limit = Math.max(TOLERANCE * Math.hypot(...wanted), ZERO_IN_THEORY);
    return difference <= limit ? [] : [`${name}: off by ${difference}, at most ${limit} is allowed`];
  });
}

/** @throws Error for a feed that is missing or of 64-bit integers, which TensorFlow.js has none of. */
export function toTensor(feed: TensorData | undefined): tf.Tensor {
  if (feed === undefined || feed.type === 'int64') throw new Error('a feed is missing');
  return tf.tensor(feed.data, [...feed.dims], feed.type);
}
