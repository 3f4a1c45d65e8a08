import type { BlendWeights } from '../../model-folder/index.js';
import type { Steps } from '../../pauses.js';
import type { Link } from './link.js';

/** Both experts added as they are, for the calibration error before fitting. */
export const UNCALIBRATED: BlendWeights = { encoder: 1, expert: 1, bias: [] };

/** What the weights are fitted to. Arrays are [rows, outputs]. */
export interface BlendRows {
  readonly link: Link;
  readonly outputs: number;
  readonly encoder: Float32Array;
  readonly expert: Float32Array;
  /** 1 where an output should be on, else 0. */
  readonly targets: Uint8Array;
}

/**
 * Where fitting starts, and stays close to if rows are few: weights that did well on many datasets
 * (docs/lexical.md).
 */
export const startingWeights = { encoder: 1, expert: 4.5, bias: 0 } as const;
type Coordinate = keyof typeof startingWeights;

/** The pull towards the starting weights, in rows of evidence. */
const PRIOR_ROWS = 5;
const MAX_SWEEPS = 60;
/** A sweep that moves no weight by more than this ends the fit. */
const TOLERANCE = 1e-4;

/**
 * The weights, none below 0, under which the rows are most likely: temperature scaling (Guo et al. 2017) of
 * one expert, or of both at once. Newton steps go through the weights one at a time; as the loss is convex,
 * that finds the optimum in spite of the bounds.
 * @param fitted the weights to fit; the others are 0. A bias is fitted for sigmoids only, one for all
 * outputs.
 */
export function* fitBlendWeights(rows: BlendRows, fitted: readonly Coordinate[]): Steps<BlendWeights> {
  const weights = { encoder: 0, expert: 0, bias: 0 };
  const coordinates = fitted.filter((each) => each !== 'bias' || rows.link === 'sigmoid');
  for (const each of coordinates) weights[each] = startingWeights[each];
  for (let sweep = 0; sweep < MAX_SWEEPS; sweep += 1) {
    let moved = 0;
    for (const coordinate of coordinates) {
      const before = weights[coordinate];
      weights[coordinate] = before + (yield* boundedStep(rows, weights, coordinate));
      if (coordinate !== 'bias') weights[coordinate] = Math.max(0, weights[coordinate]);
      moved = Math.max(moved, Math.abs(weights[coordinate] - before));
    }
    if (moved < TOLERANCE) break;
  }
  return { ...weights, bias: Array.from({ length: rows.outputs }, () => weights.bias) };
}

type Scalars = Record<Coordinate, number>;

/**
 * A Newton step, at most as long as the weight itself or, below 1, as 1: far from the optimum the loss is
 * nearly flat, and a full step would overshoot.
 */
function* boundedStep(rows: BlendRows, weights: Scalars, coordinate: Coordinate): Steps<number> {
  const { slope, curvature } =
    rows.link === 'softmax'
      ? yield* softmaxDerivatives(rows, weights, coordinate)
      : yield* sigmoidDerivatives(rows, weights, coordinate);
  const scale = coordinate === 'bias' ? 1 : startingWeights[coordinate];
  const stiffness = PRIOR_ROWS / scale ** 2;
  const pull = stiffness * (weights[coordinate] - startingWeights[coordinate]);
  const step = -(slope + pull) / (curvature + stiffness);
  const longest = Math.max(1, Math.abs(weights[coordinate]));
  return Math.min(longest, Math.max(-longest, step));
}

/** Outputs between two places where the fit may be interrupted. */
const OUTPUTS_A_STEP = 4096;

/** First and second derivative of the summed log-loss. */
interface Derivatives {
  readonly slope: number;
  readonly curvature: number;
}

function* sigmoidDerivatives(rows: BlendRows, weights: Scalars, coordinate: Coordinate): Steps<Derivatives> {
  const { encoder, expert, targets } = rows;
  let slope = 0;
  let curvature = 0;
  for (let at = 0; at < targets.length; at += 1) {
    if (at % OUTPUTS_A_STEP === 0) yield;
    const feature = featureAt(rows, coordinate, at);
    const logit = weights.encoder * (encoder[at] ?? 0) + weights.expert * (expert[at] ?? 0) + weights.bias;
    const probability = 1 / (1 + Math.exp(-logit));
    slope += (probability - (targets[at] ?? 0)) * feature;
    curvature += probability * (1 - probability) * feature * feature;
  }
  return { slope, curvature };
}

function* softmaxDerivatives(rows: BlendRows, weights: Scalars, coordinate: Coordinate): Steps<Derivatives> {
  const { encoder, expert, targets, outputs } = rows;
  const logits = new Float64Array(outputs);
  let slope = 0;
  let curvature = 0;
  for (let start = 0; start < targets.length; start += outputs) {
    yield;
    let highest = Number.NEGATIVE_INFINITY;
    for (let output = 0; output < outputs; output += 1) {
      const at = start + output;
      const logit = weights.encoder * (encoder[at] ?? 0) + weights.expert * (expert[at] ?? 0);
      logits[output] = logit;
      highest = Math.max(highest, logit);
    }
    let sum = 0;
    let mean = 0;
    let square = 0;
    for (let output = 0; output < outputs; output += 1) {
      const share = Math.exp((logits[output] ?? 0) - highest);
      const feature = featureAt(rows, coordinate, start + output);
      sum += share;
      mean += share * feature;
      square += share * feature * feature;
      slope -= (targets[start + output] ?? 0) * feature;
    }
    slope += mean / sum;
    curvature += square / sum - (mean / sum) ** 2;
  }
  return { slope, curvature };
}

function featureAt({ encoder, expert }: BlendRows, coordinate: Coordinate, at: number): number {
  if (coordinate === 'bias') return 1;
  return (coordinate === 'encoder' ? encoder[at] : expert[at]) ?? 0;
}

/** Blended logits. [rows, outputs] */
export function blendLogits(
  { encoder, expert, bias }: BlendWeights,
  encoderOutputs: Float32Array,
  expertOutputs: Float32Array,
): Float32Array {
  return encoderOutputs.map(
    (output, at) =>
      encoder * output + expert * (expertOutputs[at] ?? 0) + (bias[at % Math.max(1, bias.length)] ?? 0),
  );
}
