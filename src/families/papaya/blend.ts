import { expectedCalibrationError } from '../calibration-error.js';
import type { Blend, PartFigures, Scores } from '../family.js';
import {
  type BlendRows,
  type BlendWeights,
  blendLogits,
  fitBlendWeights,
  type startingWeights,
} from './blend-weights.js';
import { sigmoid } from './classification-decoder.js';
import { decisionsOf } from './decisions.js';
import { labelThresholds } from './label-thresholds.js';

export interface BlendTask extends BlendRows {
  /** Whether every output is a yes or no that its own threshold decides. */
  readonly multilabel: boolean;
  /** Metrics of blended logits. */
  readonly score: (logits: Float32Array) => Scores;
}

/**
 * Calibrates each expert alone and both together on the dev rows. In multilabel models each label's threshold is moved
 * to a score of one half, where whoever reads the scores looks for it.
 */
export function fitBlend(task: BlendTask): Blend {
  const encoder = fitPart(task, ['encoder', 'bias']);
  const expert = fitPart(task, ['expert', 'bias']);
  const blend = fitPart(task, ['encoder', 'expert', 'bias']);
  if (!task.multilabel) return { encoder, expert, blend };
  const leaning = LEANINGS.map((lean) => withDecisions(task, leanedWeights(blend.weights, lean), blend));
  const [best = blend] = [blend, expert, ...leaning, encoder].sort((a, b) => b.value - a.value);
  return { encoder, expert, blend: best };
}

/**
 * The likeliest mixture of a multilabel model is not always the one with the best F1, for which rare labels count as much
 * as frequent ones: mixtures in which one expert counts less compete with it, and so does each expert alone.
 */
const LEANINGS = [
  { encoder: 0.5, expert: 1 },
  { encoder: 0.25, expert: 1 },
  { encoder: 1, expert: 0.5 },
] as const;

/** Less of one expert and, so that scores keep their scale, as much more of the other. */
function leanedWeights(
  { encoder, expert, bias }: BlendWeights,
  lean: { readonly encoder: number; readonly expert: number },
): BlendWeights {
  const scale = 2 / (lean.encoder + lean.expert);
  return { encoder: scale * lean.encoder * encoder, expert: scale * lean.expert * expert, bias };
}

type Coordinate = keyof typeof startingWeights;

function fitPart(task: BlendTask, fitted: readonly Coordinate[]): PartFigures {
  const read = (weights: BlendWeights) => blendLogits(weights, task.encoder, task.expert);
  const bare = { encoder: 0, expert: 0, bias: [] };
  const before = read({
    ...bare,
    ...(fitted.includes('encoder') ? { encoder: 1 } : {}),
    ...(fitted.includes('expert') ? { expert: 1 } : {}),
  });
  const calibrated = fitBlendWeights(task, fitted);
  const calibration_error = {
    before: expectedCalibrationError(decisionsOf(task, before)),
    after: expectedCalibrationError(decisionsOf(task, read(calibrated))),
  };
  return withDecisions(task, calibrated, { calibration_error });
}

/** Weights with the thresholds that they need, and the figures that they reach. */
function withDecisions(
  task: BlendTask,
  calibrated: BlendWeights,
  { calibration_error }: Pick<PartFigures, 'calibration_error'>,
): PartFigures {
  const read = (weights: BlendWeights) => blendLogits(weights, task.encoder, task.expert);
  const weights = task.multilabel ? withThresholds(task, calibrated, read(calibrated)) : calibrated;
  return { ...task.score(read(weights)), ...(calibration_error && { calibration_error }), weights };
}

/** Moves each label's best threshold to one half. */
function withThresholds(
  { outputs, targets }: BlendTask,
  weights: BlendWeights,
  logits: Float32Array,
): BlendWeights {
  const probabilities = Float64Array.from(logits, sigmoid);
  const thresholds = labelThresholds({ labels: outputs, probabilities, targets });
  const bias = weights.bias.map((each, output) => each - logit(thresholds[output] ?? 0.5));
  return { ...weights, bias };
}

const logit = (probability: number): number => Math.log(probability / (1 - probability));
