import type { BlendWeights } from '../../models/index.js';
import { mapSteps, type Steps } from '../../system/index.js';
import { expectedCalibrationError } from '../evaluation.js';
import type { Blend, PartFigures, Scores } from '../family.js';
import { type Derivatives, newtonFit } from '../newton-fit.js';
import { softmax } from '../softmax.js';
import type { Link } from './classification-dataset.js';
import { decisionsOf, figuresOfCounts, type LabelCounts } from './evaluation.js';
import { sigmoid } from './probabilities.js';

interface BlendTask extends BlendRows {
  /** Default: {@link heldOutPrior}. */
  readonly prior?: BlendPrior;
  /** Whether each output is a yes or no, decided by a threshold of its own. */
  readonly multilabel: boolean;
  readonly score: (logits: Float32Array) => Steps<Scores>;
}

/**
 * Calibrates each expert alone and both together. A multilabel label's best threshold becomes a score of 0.5. The likeliest
 * mixture of a multilabel model doesn't always have the best F1, so another one is taken if it is better by more than a
 * standard error of the dev rows.
 */
export function* fitBlend(task: BlendTask): Steps<Blend> {
  const encoder = yield* fitPart(task, ['encoder', 'bias'], task.prior);
  // Even an expert that counts for nothing in the blend is shown as good as it is.
  const expert = yield* fitPart(task, ['expert', 'bias']);
  const blend = yield* fitPart(task, ['encoder', 'expert', 'bias'], task.prior);
  if (!task.multilabel) return { encoder, expert, blend };
  const leaning: PartFigures[] = [];
  for (const lean of LEANINGS) {
    leaning.push(yield* withDecisions(task, leanedWeights(blend.weights, lean), blend));
  }
  const [best = blend] = [expert, ...leaning, encoder].sort((a, b) => b.value - a.value);
  // Of a mean of numbers from 0 to 1, this is the largest standard error.
  const margin = Math.sqrt((blend.value * (1 - blend.value) * task.outputs) / task.targets.length);
  return { encoder, expert, blend: best.value > blend.value + margin ? best : blend };
}

/** In these, one expert counts less. */
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

function* fitPart(task: BlendTask, fitted: readonly Coordinate[], prior?: BlendPrior): Steps<PartFigures> {
  const read = (weights: BlendWeights) => blendLogits(weights, task.encoder, task.expert);
  const before = read({
    encoder: fitted.includes('encoder') ? 1 : 0,
    expert: fitted.includes('expert') ? 1 : 0,
    bias: [],
  });
  const calibrated = yield* fitBlendWeights(task, fitted, prior);
  const calibration_error = {
    before: expectedCalibrationError(yield* decisionsOf(task, before)),
    after: expectedCalibrationError(yield* decisionsOf(task, read(calibrated))),
  };
  return yield* withDecisions(task, calibrated, { calibration_error });
}

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

/** Both experts added as they are, for the calibration error before fitting. */
export const UNCALIBRATED: BlendWeights = { encoder: 1, expert: 1, bias: [] };

export interface BlendRows {
  readonly link: Link;
  readonly outputs: number;
  readonly encoder: Float32Array;
  readonly expert: Float32Array;
  /** 1 where an output should be on, else 0. */
  readonly targets: Uint8Array;
  /** How probable it is that each output should be on, where rows say so. Default: `targets`. */
  readonly shares?: Float32Array | undefined;
  /** How many times each row counts. Default: once. [rows] */
  readonly weights?: Float64Array | undefined;
}

type Coordinate = 'encoder' | 'expert' | 'bias';

/** Where the fit of each weight starts, and how far five rows of evidence may move it. */
export type BlendPrior = Readonly<Record<Coordinate, { readonly start: number; readonly scale: number }>>;

/** Weights that did well on many datasets (docs/lexical.md); fits of few held-out rows stay close to them. */
export const heldOutPrior: BlendPrior = {
  encoder: { start: 1, scale: 1 },
  expert: { start: 4.5, scale: 4.5 },
  bias: { start: 0, scale: 1 },
};

/**
 * For a layer that is fitted to a frozen encoder, whose penalty makes its logits small. The lexical expert has to earn its
 * weight: with sixteen rows, it knows next to nothing.
 */
export const fewRowsPrior: BlendPrior = {
  encoder: { start: 4, scale: 8 },
  expert: { start: 0, scale: 1 },
  bias: { start: 0, scale: 0.25 },
};

/**
 * The weights under which the rows are most likely: temperature scaling (Guo et al. 2017) of one expert or of both.
 * @param fitted the others are 0. A bias is fitted for sigmoids only, one for all outputs
 */
export function* fitBlendWeights(
  rows: BlendRows,
  fitted: readonly Coordinate[],
  prior: BlendPrior = heldOutPrior,
): Steps<BlendWeights> {
  const coordinates = fitted.filter((each) => each !== 'bias' || rows.link === 'sigmoid');
  const numbers = coordinates.map((each) => ({
    ...prior[each],
    least: each === 'bias' ? Number.NEGATIVE_INFINITY : 0,
  }));
  const weightsOf = (values: readonly number[]): Scalars => ({
    encoder: 0,
    expert: 0,
    bias: 0,
    ...Object.fromEntries(coordinates.map((each, at) => [each, values[at] ?? 0])),
  });
  const derivatives = rows.link === 'softmax' ? softmaxDerivatives : sigmoidDerivatives;
  const values = yield* newtonFit(numbers, (current, at) =>
    derivatives(rows, weightsOf(current), coordinates[at] ?? 'encoder'),
  );
  const weights = weightsOf(values);
  return { ...weights, bias: Array.from({ length: rows.outputs }, () => weights.bias) };
}

/** The log-loss in nats, summed over the rows, of a frozen encoder's logits once they are calibrated. */
export function* calibratedLoss(rows: Omit<BlendRows, 'expert'>): Steps<number> {
  const expert = new Float32Array(rows.encoder.length);
  const weights = yield* fitBlendWeights({ ...rows, expert }, ['encoder'], fewRowsPrior);
  const losses = yield* rowLosses(rows.link, rows, blendLogits(weights, rows.encoder, expert));
  return losses.reduce((sum, each) => sum + each, 0);
}

/**
 * Log-loss of each row in nats, its cross-entropy if it has shares; of sigmoids, summed over the outputs. Rows with weights
 * have these times the loss, divided by their mean. @param logits, targets [rows, outputs]
 */
export function* rowLosses(
  link: Link,
  rows: Omit<BlendRows, 'link' | 'encoder' | 'expert'>,
  logits: Float32Array,
): Steps<Float64Array> {
  const { targets, weights, outputs } = rows;
  const probable = rows.shares ?? targets;
  const losses = new Float64Array(logits.length / outputs);
  const mean = weights ? weights.reduce((sum, weight) => sum + weight, 0) / weights.length : 1;
  const costOf = (share: number) => -Math.log(Math.max(share, SMALLEST_SHARE));
  for (let row = 0; row < losses.length; row += 1) {
    yield;
    const mine = logits.subarray(row * outputs, (row + 1) * outputs);
    const shares = link === 'softmax' ? softmax(mine) : Float64Array.from(mine, sigmoid);
    let loss = 0;
    for (const [output, share] of shares.entries()) {
      const on = probable[row * outputs + output] ?? 0;
      if (on > 0) loss += on * costOf(share);
      if (on < 1 && link === 'sigmoid') loss += (1 - on) * costOf(1 - share);
    }
    losses[row] = (loss * (weights?.[row] ?? 1)) / mean;
  }
  return losses;
}

/** A label that is said to be impossible costs much, but not everything. */
const SMALLEST_SHARE = 1e-9;

type Scalars = Record<Coordinate, number>;

const OUTPUTS_A_STEP = 4096;

function* sigmoidDerivatives(rows: BlendRows, weights: Scalars, coordinate: Coordinate): Steps<Derivatives> {
  const { encoder, expert, targets, shares = targets, outputs, weights: counts } = rows;
  let slope = 0;
  let curvature = 0;
  for (let at = 0; at < targets.length; at += 1) {
    if (at % OUTPUTS_A_STEP === 0) yield;
    const feature = featureAt(rows, coordinate, at);
    const logit = weights.encoder * (encoder[at] ?? 0) + weights.expert * (expert[at] ?? 0) + weights.bias;
    const probability = 1 / (1 + Math.exp(-logit));
    const count = counts?.[Math.floor(at / outputs)] ?? 1;
    slope += count * (probability - (shares[at] ?? 0)) * feature;
    curvature += count * probability * (1 - probability) * feature * feature;
  }
  return { slope, curvature };
}

function* softmaxDerivatives(rows: BlendRows, weights: Scalars, coordinate: Coordinate): Steps<Derivatives> {
  const { encoder, expert, targets, shares = targets, outputs, weights: counts } = rows;
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
    let wanted = 0;
    for (let output = 0; output < outputs; output += 1) {
      const share = Math.exp((logits[output] ?? 0) - highest);
      const feature = featureAt(rows, coordinate, start + output);
      sum += share;
      mean += share * feature;
      square += share * feature * feature;
      wanted += (shares[start + output] ?? 0) * feature;
    }
    const count = counts?.[start / outputs] ?? 1;
    slope += count * (mean / sum - wanted);
    curvature += count * (square / sum - (mean / sum) ** 2);
  }
  return { slope, curvature };
}

function featureAt({ encoder, expert }: BlendRows, coordinate: Coordinate, at: number): number {
  if (coordinate === 'bias') return 1;
  return (coordinate === 'encoder' ? encoder[at] : expert[at]) ?? 0;
}

export function blendLogits(
  { encoder, expert, bias }: BlendWeights,
  encoderOutputs: Float32Array,
  expertOutputs: Float32Array,
): Float32Array {
  const blended = new Float32Array(encoderOutputs.length);
  const columns = Math.max(1, bias.length);
  for (let at = 0; at < blended.length; at += 1) {
    blended[at] = encoder * (encoderOutputs[at] ?? 0) + expert * (expertOutputs[at] ?? 0) + (bias[at % columns] ?? 0);
  }
  return blended;
}

interface LabelRows {
  readonly labels: number;
  readonly probabilities: Float64Array;
  readonly targets: Uint8Array;
}

/** The thresholds to try, 0.007 to 0.95: evenly spaced as logits, since the best ones of rare labels are close to 0. */
const candidates = Array.from({ length: 41 }, (_, step) => 1 / (1 + Math.exp(5 - 0.2 * step)));

/** For a label with this many rows, its own F1 and the mean over all labels count the same. */
const SHARED_ROWS = 20;

/** The threshold of each label with the best F1; rare labels follow what is best for all labels together. */
export function* labelThresholds(rows: LabelRows): Steps<number[]> {
  const curves: F1Curve[] = [];
  for (let label = 0; label < rows.labels; label += 1) curves.push(yield* f1Curve(rows, label));
  const shared = candidates.map(
    (_, at) => curves.reduce((sum, { f1s }) => sum + (f1s[at] ?? 0), 0) / Math.max(1, rows.labels),
  );
  return curves.map(({ positives, f1s }) => {
    const merits = f1s.map((f1, at) => positives * f1 + SHARED_ROWS * (shared[at] ?? 0));
    return candidates[merits.indexOf(Math.max(...merits))] ?? 0.5;
  });
}

interface F1Curve {
  readonly positives: number;
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
