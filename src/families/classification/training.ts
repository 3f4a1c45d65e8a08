import type { Encoder, Pooling } from '../../encoder/index.js';
import type { RowHead } from '../../engine/index.js';
import { linearExpertBytes, trainLinearExpert } from '../../lexical/index.js';
import { type Evidence, EXPERT_FILE, type ModelFolderConfig, type NamedTensor } from '../../models/index.js';
import { mapSteps, type Steps, withPauses } from '../../system/index.js';
import type { TextOutputs } from '../../text/index.js';
import type {
  ExpertOptions,
  FamilyTraining,
  FinishedTask,
  Scores,
  TaskDescription,
  TrainedExpert,
  TrainingTask,
  TransformersClass,
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
import { type AnsweredRow, fitEvidence, labelProbabilities, predictedLabels, trustIn } from './probabilities.js';

/**
 * What makes Python's transformers load a classifier with mean pooling as what it is, or refuse it. transformers has no class
 * for it: its own ones read the first token's state, by a layer that the folder doesn't have and that would be random.
 */

const CLASS = 'MeanPoolingClassifier';
const MODULE = 'modeling_orchard';
const FILE = `${MODULE}.py`;

const usesClass = ({ orchard }: ModelFolderConfig): boolean => orchard.pooling === 'mean';

/** The class, and the file of the folder that transformers finds it in. */
function transformersClass(config: ModelFolderConfig): TransformersClass | undefined {
  if (!usesClass(config)) return undefined;
  return {
    architectures: [CLASS],
    auto_map: { AutoModelForSequenceClassification: `${MODULE}.${CLASS}` },
  };
}

/** The Python file with the class. */
function transformersFiles(encoder: Encoder, config: ModelFolderConfig): ReadonlyMap<string, Uint8Array> {
  return new Map(usesClass(config) ? [[FILE, Buffer.from(pythonClass(encoder))]] : []);
}

/**
 * A tensor of one number under the name of the layer that transformers' own class would make up. It doesn't fit, so that class
 * stops with an error that names it, where it would otherwise warn and answer at random.
 */
function transformersGuards({ textHead }: Encoder, config: ModelFolderConfig): ReadonlyMap<string, NamedTensor> {
  const [inner] = textHead.inner;
  const guard = { shape: [1], values: new Float32Array(1) };
  return new Map(usesClass(config) && inner !== undefined ? [[inner.name, guard]] : []);
}

function pythonClass({ prefix, modelType }: Encoder): string {
  const base = prefix.replace(/\.$/u, '');
  return `"""A text classifier that Orchard trained, for transformers: the mean of the encoder's token states, then one linear layer.

    from transformers import pipeline
    classify = pipeline("text-classification", FOLDER, trust_remote_code=True)

trust_remote_code lets transformers run this file, so read it first. The logits are those of the model's encoder; Orchard's
own answers also count its lexical expert (config.json: orchard.blend).
"""

from torch import nn
from transformers import CONFIG_MAPPING, AutoModel, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

class ${CLASS}(PreTrainedModel):
    config_class = CONFIG_MAPPING["${modelType}"]
    base_model_prefix = "${base}"

    def __init__(self, config):
        super().__init__(config)
        encoder = AutoModel.from_config(config)
        if hasattr(encoder, "pooler"):
            encoder.pooler = None
        self.${base} = encoder
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    def forward(self, input_ids, attention_mask=None, labels=None, **inputs):
        states = self.${base}(input_ids, attention_mask=attention_mask, **inputs).last_hidden_state
        mask = states.new_ones(states.shape[:2]) if attention_mask is None else attention_mask.to(states.dtype)
        means = (states * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)
        logits = self.classifier(means)
        return SequenceClassifierOutput(loss=self._loss(logits, labels), logits=logits)

    def _loss(self, logits, labels):
        if labels is None:
            return None
        if self.config.problem_type == "multi_label_classification":
            targets = labels.to(logits.dtype).reshape(logits.shape)
            return nn.functional.binary_cross_entropy_with_logits(logits, targets)
        return nn.functional.cross_entropy(logits, labels.reshape(-1))
`;
}

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
    linearEnd: () => (shape.pooling === 'mean' ? classifierEnd(link === 'softmax' ? 1 : shape.outputs) : undefined),
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
