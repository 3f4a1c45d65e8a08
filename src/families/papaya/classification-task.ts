import type { Pooling } from '../../encoder/index.js';
import type { TaskDescription, TrainingHead, TrainingTask } from '../family.js';
import { augmentTexts } from './augment-texts.js';
import type { ClassificationDataset, ClassificationKind } from './classification-dataset.js';
import { predictedLabels } from './classification-decoder.js';
import { type ClassifierShape, classifierLogits, classifierParameters } from './classification-head.js';
import { classificationLoss, type Link, lossTargets } from './classification-loss.js';
import { classificationScores } from './classification-scores.js';

/** A binary model has one logit, for its second label; every other kind has one a label. */
function outputsOf({ kind, labels }: ClassificationDataset): number {
  return kind === 'binary' ? 1 : labels.length;
}

export function linkOf(kind: ClassificationKind): Link {
  return kind === 'multiclass' ? 'softmax' : 'sigmoid';
}

/** The outputs that are on for a row: the logit of a binary model is on for the second label. */
function activeOutputs(kind: ClassificationKind, labelIds: readonly number[]): readonly number[] {
  if (kind !== 'binary') return labelIds;
  return labelIds.includes(1) ? [0] : [];
}

/** A text classification dataset as the training loop sees it. */
export function classificationTask(dataset: ClassificationDataset, pooling: Pooling): TrainingTask {
  const { kind, labels, train, dev } = dataset;
  const reading = { link: linkOf(kind), labels: labels.length };
  const outputs = outputsOf(dataset);
  // Binary F1 is that of the second label, as scikit-learn's default has it; otherwise the mean over labels.
  const f1Labels = kind === 'binary' ? [1] : [...labels.keys()];
  return {
    warnings: dataset.warnings,
    train: train.map(({ text }) => text),
    dev: dev.map(({ text }) => text),
    mainMetric: kind === 'multilabel' ? 'f1' : 'accuracy',
    head: classificationHead(dataset, { outputs, pooling }),
    augmented: (seed) =>
      classificationTask({ ...dataset, train: [...train, ...augmentTexts(train, seed)] }, pooling),
    evaluate(logits) {
      const predicted = dev.map((_, row) =>
        predictedLabels(logits.subarray(row * outputs, (row + 1) * outputs), reading),
      );
      return classificationScores(
        predicted,
        dev.map(({ labelIds }) => labelIds),
        f1Labels,
      );
    },
    describe: () => describe(dataset, pooling),
  };
}

function classificationHead({ kind, train }: ClassificationDataset, shape: ClassifierShape): TrainingHead {
  const link = linkOf(kind);
  return {
    ...shape,
    parameters: (encoder) => classifierParameters(encoder, shape),
    logits: (graph, encoder, inputs, dropout) => classifierLogits(graph, encoder, inputs, shape, dropout),
    loss: (graph, logits) => classificationLoss(graph, logits, link),
    targets(rows) {
      const active = rows.map((row) => activeOutputs(kind, train[row]?.labelIds ?? []));
      return lossTargets(active, shape.outputs, link);
    },
  };
}

/**
 * For other libraries: a binary model is a multi-label one with a single label, its second, since its lone
 * logit is read through a sigmoid. With mean pooling the weights are a BertModel's and a classifier's, not those of
 * BertForSequenceClassification, which would pool otherwise.
 */
function describe({ kind, labels }: ClassificationDataset, pooling: Pooling): TaskDescription {
  const named = kind === 'binary' ? labels.slice(1) : labels;
  return {
    architectures: [pooling === 'first' ? 'BertForSequenceClassification' : 'BertModel'],
    id2label: Object.fromEntries(named.map((label, id) => [String(id), label])),
    label2id: Object.fromEntries(named.map((label, id) => [label, id])),
    problem_type: kind === 'multiclass' ? 'single_label_classification' : 'multi_label_classification',
    labels: [...labels],
    pooling,
  };
}
