import type { Pooling } from '../../encoder/index.js';
import type { RowHead } from '../../engine/index.js';
import { linearExpertBytes, trainLinearExpert } from '../../lexical/index.js';
import { type Evidence, EXPERT_FILE } from '../../model-folder/index.js';
import { mapSteps, type Steps, withPauses } from '../../pauses.js';
import type { TextOutputs } from '../../text-reader/index.js';
import type {
  ExpertOptions,
  FamilyTraining,
  FinishedTask,
  Scores,
  TaskDescription,
  TrainedExpert,
  TrainingTask,
} from '../family.js';
import { flatOutputs } from '../softmax.js';
import { augmentTexts } from './augmentation.js';
import { blendLogits, fitBlend, UNCALIBRATED } from './calibration.js';
import { type ClassificationDataset, type ClassificationKind, linkOf } from './classification-dataset.js';
import { classificationEvaluation, classificationScores, mainMetricOf } from './evaluation.js';
import {
  balancedWeights,
  type ClassifierShape,
  classificationLoss,
  classifierEnd,
  classifierLogits,
  classifierParameters,
  lossTargets,
} from './head.js';
import {
  type AnsweredRow,
  fitEvidence,
  labelProbabilities,
  predictedLabels,
  trustIn,
} from './probabilities.js';
import { transformersClass, transformersFiles, transformersGuards } from './transformers-class.js';

/** A binary model has one logit, for its second label; every other kind has one per label. */
function outputsOf({ kind, labels }: ClassificationDataset): number {
  return kind === 'binary' ? 1 : labels.length;
}

/** The outputs that should be on for a row; the one output of a binary model is on for the second label. */
function activeOutputs(kind: ClassificationKind, labelIds: readonly number[]): readonly number[] {
  if (kind !== 'binary') return labelIds;
  return labelIds.includes(1) ? [0] : [];
}

/** Measures logits of the dev rows. */
type Scoring = (logits: Float32Array) => Steps<Scores>;

/** A text classification dataset as the training loop sees it. */
export function classificationTask(dataset: ClassificationDataset, pooling: Pooling): TrainingTask<RowHead> {
  const { kind, labels, train, dev } = dataset;
  const reading = { link: linkOf(kind), labels: labels.length };
  const outputs = outputsOf(dataset);
  // Binary F1 is that of the second label, as scikit-learn's default has it; otherwise the mean over labels.
  const f1Labels = kind === 'binary' ? [1] : [...labels.keys()];
  const mainMetric = mainMetricOf(kind);
  const score: Scoring = function* (logits) {
    const labelsOf = (_: unknown, row: number) =>
      predictedLabels(logits.subarray(row * outputs, (row + 1) * outputs), reading);
    const scores = classificationScores(
      yield* mapSteps(dev, labelsOf),
      dev.map(({ labelIds }) => labelIds),
      f1Labels,
    );
    return { ...scores, value: scores[mainMetric] };
  };
  return {
    warnings: dataset.warnings,
    train: train.map(({ text }) => text),
    dev: dev.map(({ text }) => text),
    mainMetric,
    head: classificationHead(dataset, { outputs, pooling }),
    augmented: ({ seed }) =>
      classificationTask({ ...dataset, train: [...train, ...augmentTexts(train, seed)] }, pooling),
    evaluate: (texts, signal) => withPauses(score(flatOutputs(texts)), signal),
    trainExpert: (options) => trainExpert(dataset, outputs, options, score),
    expertBytes: () => linearExpertBytes(train, outputs),
    describe: () => describe(dataset, pooling),
  };
}

/** Trains the lexical expert on the training rows; `finish` blends it with the encoder on the dev rows. */
async function trainExpert(
  dataset: ClassificationDataset,
  outputs: number,
  { lowercase, balanced, seed, signal }: ExpertOptions,
  score: Scoring,
): Promise<TrainedExpert> {
  const { kind, train, dev } = dataset;
  const active = train.map(({ labelIds }) => activeOutputs(kind, labelIds));
  const weights = balanced ? balancedWeights(active, outputs) : undefined;
  const expert = await trainLinearExpert(
    train.map(({ text }) => text),
    active,
    { outputs, lowercase, seed, signal, ...(weights && { classWeights: weights }) },
  );
  const finish = function* (texts: readonly TextOutputs[]): Steps<FinishedTask> {
    const margins = new Float32Array(dev.length * outputs);
    const coverages = new Float64Array(dev.length);
    const targets = new Uint8Array(dev.length * outputs);
    for (const [row, { text, labelIds }] of dev.entries()) {
      yield;
      const reading = expert.read(text);
      margins.set(reading.margins, row * outputs);
      coverages[row] = reading.coverage;
      for (const output of activeOutputs(kind, labelIds)) targets[row * outputs + output] = 1;
    }
    const encoder = flatOutputs(texts);
    const rows = { link: linkOf(kind), outputs, targets };
    const blend = yield* fitBlend({
      ...rows,
      encoder,
      expert: margins,
      multilabel: kind === 'multilabel',
      score,
    });
    const logits = blendLogits(blend.blend.weights, encoder, margins);
    const evidence = yield* evidenceOf(dataset, logits, coverages);
    const evaluation = yield* classificationEvaluation(dataset, {
      ...rows,
      trust: coverages.map((coverage) => trustIn(evidence, coverage)),
      logits,
      uncalibrated: blendLogits(UNCALIBRATED, encoder, margins),
    });
    return { blend, evaluation, evidence, files: new Map([[EXPERT_FILE, expert.encode()]]) };
  };
  return { finish: (texts, signal) => withPauses(finish(texts), signal) };
}

/** What the dev rows say of how far the scores can be trusted. @param coverages of the dev rows. */
function* evidenceOf(
  { kind, labels, dev }: ClassificationDataset,
  logits: Float32Array,
  coverages: Float64Array,
): Steps<Evidence> {
  const outputs = logits.length / Math.max(1, dev.length);
  const reading = { link: linkOf(kind), labels: labels.length };
  const answered = yield* mapSteps(dev, ({ labelIds }, row): AnsweredRow => {
    const probabilities = labelProbabilities(logits.subarray(row * outputs, (row + 1) * outputs), reading);
    const score = Math.max(...probabilities);
    const isRight = labelIds.includes(probabilities.indexOf(score));
    return { coverage: coverages[row] ?? 0, rightly: isRight ? score : undefined };
  });
  return fitEvidence(answered, labels.length, kind === 'multilabel');
}

function classificationHead({ kind, train }: ClassificationDataset, shape: ClassifierShape): RowHead {
  const link = linkOf(kind);
  const active = train.map(({ labelIds }) => activeOutputs(kind, labelIds));
  const balance = balancedWeights(active, shape.outputs);
  return {
    kind: 'rows',
    per: 'text',
    outputs: () => shape.outputs,
    parameters: (encoder) => classifierParameters(encoder, shape),
    logits: (graph, encoder, inputs, dropout) => classifierLogits(graph, encoder, inputs, shape, dropout),
    loss: (graph, logits) => classificationLoss(graph, logits, link),
    linearEnd: () =>
      shape.pooling === 'mean' ? classifierEnd(link === 'softmax' ? 1 : shape.outputs) : undefined,
    targets(batch, { labelSmoothing, balanced }) {
      const labels = batch.map(({ row }) => active[row] ?? []);
      const rules = { link, labelSmoothing, ...(balanced && { classWeights: balance }) };
      return lossTargets(labels, shape.outputs, rules);
    },
  };
}

/**
 * What config.json says to other libraries. To them a binary model is a multi-label one with a single label,
 * the second, since its one logit goes through a sigmoid.
 */
function describe({ kind, labels }: ClassificationDataset, pooling: Pooling): TaskDescription {
  const named = kind === 'binary' ? labels.slice(1) : labels;
  return {
    id2label: Object.fromEntries(named.map((label, id) => [String(id), label])),
    label2id: Object.fromEntries(named.map((label, id) => [label, id])),
    problem_type: kind === 'multiclass' ? 'single_label_classification' : 'multi_label_classification',
    labels: [...labels],
    pooling,
  };
}

/** How new Papaya models pool; see docs/decisions.md for the measurement. */
const POOLING: Pooling = 'mean';

export const papayaTraining: FamilyTraining<ClassificationDataset> = {
  task: (dataset) => classificationTask(dataset, POOLING),
  exportedOutputs: (graph, encoder, inputs, { id2label, orchard }) => ({
    name: 'logits',
    tensor: classifierLogits(graph, encoder, inputs, {
      outputs: Object.keys(id2label).length,
      pooling: orchard.pooling === 'first' ? 'first' : 'mean',
    }),
  }),
  transformersClass,
  companions: transformersFiles,
  companionTensors: transformersGuards,
};
