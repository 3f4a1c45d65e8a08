import type { BlendWeights } from '../../model-folder/index.js';
import type { Steps } from '../../pauses.js';
import { expectedCalibrationError } from '../calibration-error.js';
import type { Blend, PartFigures, Scores } from '../family.js';
import { type BlendRows, blendLogits, fitBlendWeights, type startingWeights } from './blend-weights.js';
import { sigmoid } from './classification-decoder.js';
import { decisionsOf } from './decisions.js';
import { labelThresholds } from './label-thresholds.js';

export interface BlendTask extends BlendRows {
  /** Whether each output is a yes or no, decided by a threshold of its own. */
  readonly multilabel: boolean;
  /** Metrics of blended logits. */
  readonly score: (logits: Float32Array) => Steps<Scores>;
}

/**
 * Calibrates each expert alone and both together on the dev rows. In a multilabel model each label's best
 * threshold is moved to a score of 0.5, so that every score can be compared with 0.5.
 */
export function* fitBlend(task: BlendTask): Steps<Blend> {
  const encoder = yield* fitPart(task, ['encoder', 'bias']);
  const expert = yield* fitPart(task, ['expert', 'bias']);
  const blend = yield* fitPart(task, ['encoder', 'expert', 'bias']);
  if (!task.multilabel) return { encoder, expert, blend };
  const leaning: PartFigures[] = [];
  for (const lean of LEANINGS) {
    leaning.push(yield* withDecisions(task, leanedWeights(blend.weights, lean), blend));
  }
  const [best = blend] = [blend, expert, ...leaning, encoder].sort((a, b) => b.value - a.value);
  return { encoder, expert, blend: best };
}

/**
 * Further candidates for the blend of a multilabel model, in which one expert counts less. The likeliest
 * mixture doesn't always have the best F1, since rare labels count as much as frequent ones in it.
 */
const LEANINGS = [
  { encoder: 0.5, expert: 1 },
  { encoder: 0.25, expert: 1 },
  { encoder: 1, expert: 0.5 },
] as const;

/** Gives one expert less weight and the other more, so that scores keep their scale. */
function leanedWeights(
  { encoder, expert, bias }: BlendWeights,
  lean: { readonly encoder: number; readonly expert: number },
): BlendWeights {
  const scale = 2 / (lean.encoder + lean.expert);
  return { encoder: scale * lean.encoder * encoder, expert: scale * lean.expert * expert, bias };
}

type Coordinate = keyof typeof startingWeights;

function* fitPart(task: BlendTask, fitted: readonly Coordinate[]): Steps<PartFigures> {
  const read = (weights: BlendWeights) => blendLogits(weights, task.encoder, task.expert);
  const before = read({
    encoder: fitted.includes('encoder') ? 1 : 0,
    expert: fitted.includes('expert') ? 1 : 0,
    bias: [],
  });
  const calibrated = yield* fitBlendWeights(task, fitted);
  const calibration_error = {
    before: expectedCalibrationError(yield* decisionsOf(task, before)),
    after: expectedCalibrationError(yield* decisionsOf(task, read(calibrated))),
  };
  return yield* withDecisions(task, calibrated, { calibration_error });
}

/** Calibrated weights with their thresholds (multilabel only), and the figures that they reach. */
function* withDecisions(
  task: BlendTask,
  calibrated: BlendWeights,
  { calibration_error }: Pick<PartFigures, 'calibration_error'>,
): Steps<PartFigures> {
  const read = (weights: BlendWeights) => blendLogits(weights, task.encoder, task.expert);
  const weights = task.multilabel ? yield* withThresholds(task, calibrated, read(calibrated)) : calibrated;
  const scores = yield* task.score(read(weights));
  return { ...scores, ...(calibration_error && { calibration_error }), weights };
}

/** Shifts the biases so that each label's best threshold becomes a score of 0.5. */
function* withThresholds(
  { outputs, targets }: BlendTask,
  weights: BlendWeights,
  logits: Float32Array,
): Steps<BlendWeights> {
  const probabilities = Float64Array.from(logits, sigmoid);
  const thresholds = yield* labelThresholds({ labels: outputs, probabilities, targets });
  const bias = weights.bias.map((each, output) => each - logit(thresholds[output] ?? 0.5));
  return { ...weights, bias };
}

const logit = (probability: number): number => Math.log(probability / (1 - probability));
