import { counted, type DatasetWarning, MAX_WARNING_EXAMPLES, quoted } from '../../datasets/index.js';
import { mapSteps, type Steps } from '../../system/index.js';
import type { DoubtfulLabels, LabelNoise } from '../family.js';
import { blendLogits, fewRowsPrior, fitBlendWeights } from './calibration.js';
import { type ClassificationDataset, type LabelledText, linkOf } from './classification-dataset.js';
import type { JudgedRows } from './few-rows.js';
import { labelProbabilities } from './probabilities.js';
import { truthOf } from './targets.js';

/** Which labels are probably wrong, by what models say of rows that they were not trained on. */

type LabelSet = Pick<ClassificationDataset, 'kind' | 'labels'>;

/** The 98th percentile of χ² with one degree of freedom: a share can't fall below 0, which halves the level to 1 %. */
const EVIDENT = 5.41;

/**
 * Estimates the share ε of wrong labels, and orders the rows by the probability of what they are labelled.
 *
 * With the probability ε, a label is replaced by one of the K − 1 others, so that the given one has the probability
 * (1 − ε) p + ε (1 − p) / (K − 1). Here p is what the models say once their logits are multiplied by a factor: calibrated
 * on wrong labels too, they are smaller than they should be. Factor and ε are those under which the labels are most likely.
 * In multilabel rows, ε is the share of given labels that are wrong, and as many are missing from other rows.
 */
export function* labelNoiseOf({ kind, labels }: LabelSet, judged: JudgedRows): Steps<LabelNoise> {
  const { rows, encoder, expert } = judged;
  const outputs = kind === 'binary' ? 1 : labels.length;
  const link = linkOf(kind);
  const { targets } = truthOf({ kind, outputs }, rows); // each row counts once, whatever its weight
  const part = { link, outputs, targets, encoder, expert };
  const weights = yield* fitBlendWeights(part, ['encoder', 'expert', 'bias'], fewRowsPrior);
  const logits = blendLogits(weights, encoder, expert);
  const given = { logits, targets, outputs, link };
  const on = targets.reduce((sum, each) => sum + each, 0);
  const rare = on / Math.max(1, targets.length - on);
  const wrongness = (at: number): Wrongness => {
    if (kind !== 'multilabel') return { leaves: 1, enters: link === 'softmax' ? 1 / (outputs - 1) : 1 };
    return targets[at] === 1 ? { leaves: 1, enters: rare } : { leaves: rare, enters: 1 };
  };
  const gapsOf = (own: Float64Array) =>
    own.map((p, at) => {
      const { leaves, enters } = wrongness(at);
      return enters * (1 - p) - leaves * p;
    });
  const plain = { factor: 1, share: 0, likelihood: Number.NEGATIVE_INFINITY };
  let [noisy, without] = [plain, plain.likelihood];
  for (const factor of FACTORS) {
    const own = yield* givenProbabilities(given, factor);
    const gaps = gapsOf(own);
    const share = likeliestShare(own, gaps);
    const likelihood = logLikelihood(own, gaps, share);
    if (likelihood > noisy.likelihood) noisy = { factor, share, likelihood };
    without = Math.max(without, logLikelihood(own, gaps, 0));
  }
  const { factor, share, likelihood } = noisy;
  const own = yield* givenProbabilities(given, factor);
  const decisions = own.length / Math.max(1, rows.length);
  const gaps = gapsOf(own);
  const right = own.map((p, at) => {
    // A label that isn't given may be missing, but it isn't wrong.
    if (kind === 'multilabel' && targets[at] === 0) return 1;
    return ((1 - share * wrongness(at).leaves) * p) / Math.max(p + share * (gaps[at] ?? 0), SMALLEST);
  });
  const allRight = rows.map((_, row) =>
    right.subarray(row * decisions, (row + 1) * decisions).reduce((a, b) => a * b, 1),
  );
  const reading = { link, labels: labels.length };
  const found = yield* mapSteps(rows, (row, at): DoubtfulLabels | undefined => {
    const shares = labelProbabilities(logits.subarray(at * outputs, (at + 1) * outputs), reading);
    return kind === 'multilabel' ? doubtfulSet(row, shares, labels) : doubtfulLabel(row, shares, labels);
  });
  return {
    judged: rows.length,
    share,
    wrong: allRight.reduce((sum, each) => sum + 1 - each, 0),
    isEvident: 2 * (likelihood - without) > EVIDENT,
    doubtful: found.flatMap((each) => each ?? []).sort((a, b) => a.probability - b.probability),
  };
}

function doubtfulLabel(
  { text, text2, line, labelIds }: LabelledText,
  shares: ArrayLike<number>,
  labels: readonly string[],
) {
  const [id = 0] = labelIds;
  const probability = shares[id] ?? 0;
  const alternative = Math.max(...Array.from(shares));
  if (probability >= alternative) return undefined;
  const suggested = namesOf([Array.from(shares).indexOf(alternative)], labels);
  const given = namesOf([id], labels);
  return { text, ...(text2 !== undefined && { text2 }), line, given, suggested, probability, alternative };
}

/** The probability of a set of labels is that of its least probable decision. */
function doubtfulSet(
  { text, text2, line, labelIds }: LabelledText,
  shares: ArrayLike<number>,
  labels: readonly string[],
) {
  const own = Array.from(shares, (share, id) => (labelIds.includes(id) ? share : 1 - share));
  const probability = Math.min(...own);
  if (probability >= 0.5) return undefined;
  const better = [...labels.keys()].filter((id) => (shares[id] ?? 0) > 0.5);
  const [given, suggested] = [namesOf(labelIds, labels), namesOf(better, labels)];
  const second = text2 !== undefined && { text2 };
  return { text, ...second, line, given, suggested, probability, alternative: 1 - probability };
}

function namesOf(ids: readonly number[], labels: readonly string[]): readonly string[] {
  return ids.map((id) => labels[id] ?? '');
}

/** How likely a mistake is, relative to ε: that a label which is right isn't written, and that it is written wrongly. */
interface Wrongness {
  readonly leaves: number;
  readonly enters: number;
}

interface GivenLabels {
  readonly logits: Float32Array;
  /** 1 where an output is on, else 0. */
  readonly targets: Uint8Array;
  readonly outputs: number;
  readonly link: 'softmax' | 'sigmoid';
}

/** @returns the probability of each row's label, or of each decision: [rows], or [rows, outputs] for sigmoids */
function* givenProbabilities({ logits, targets, outputs, link }: GivenLabels, factor: number): Steps<Float64Array> {
  yield;
  if (link === 'sigmoid') {
    return Float64Array.from(
      logits,
      (logit, at) => 1 / (1 + Math.exp(targets[at] === 1 ? -factor * logit : factor * logit)),
    );
  }
  const own = new Float64Array(logits.length / outputs);
  for (let row = 0; row < own.length; row += 1) {
    if (row % ROWS_A_STEP === 0) yield;
    const start = row * outputs;
    const given = logits[start + targets.subarray(start, start + outputs).indexOf(1)] ?? 0;
    let sum = 0;
    for (let at = start; at < start + outputs; at += 1) sum += Math.exp(factor * ((logits[at] ?? 0) - given));
    own[row] = 1 / sum;
  }
  return own;
}

const ROWS_A_STEP = 256;
const FACTORS = Array.from({ length: 14 }, (_, step) => 0.85 * 1.15 ** step);
/** With two labels and half of them wrong, nothing is left to learn from. */
const MAX_SHARE = 0.5;
const HALVINGS = 16;
/** A label that models hold to be impossible costs much, but not everything. */
const SMALLEST = 1e-9;

/** By halving, since the slope of the log-likelihood falls with the share. */
function likeliestShare(own: Float64Array, gaps: Float64Array): number {
  const slopeAt = (share: number) =>
    gaps.reduce((sum, gap, at) => sum + gap / Math.max((own[at] ?? 0) + share * gap, SMALLEST), 0);
  if (slopeAt(0) <= 0) return 0;
  let [low, high] = [0, MAX_SHARE];
  for (let halving = 0; halving < HALVINGS; halving += 1) {
    const middle = (low + high) / 2;
    if (slopeAt(middle) > 0) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

function logLikelihood(own: Float64Array, gaps: Float64Array, share: number): number {
  return own.reduce((sum, p, at) => sum + Math.log(Math.max(p + share * (gaps[at] ?? 0), SMALLEST)), 0);
}

/** Nothing unless the test says that labels are wrong. @param file that the judged rows were read from */
export function labelNoiseWarnings(
  { judged, wrong, isEvident, doubtful }: LabelNoise,
  file: string,
): readonly DatasetWarning[] {
  const count = Math.min(Math.round(wrong), doubtful.length);
  if (!isEvident || count === 0) return [];
  const likeliest = doubtful.slice(0, Math.min(count, MAX_WARNING_EXAMPLES));
  const shown = likeliest.map(({ text, text2, given, suggested }) => {
    const [label, other] = [given, suggested].map((names) => names.join(', ') || 'none');
    const second = text2 === undefined ? '' : ` and ${quoted(text2)}`;
    return `${quoted(text)}${second} (${label}; suggested: ${other})`;
  });
  const total = `the labels of about ${count} of ${counted(judged, 'row')} are probably wrong`;
  const advice = 'list them with checkData or orchard check';
  const message = `${total}, most likely those of ${shown.join(', ')}; ${advice}`;
  return [{ kind: 'doubtful_label', count, message, examples: likeliest.map(({ line = 0 }) => ({ file, line })) }];
}
