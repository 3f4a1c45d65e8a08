import type { ModelConfig } from '../../src/contract/index.js';
import { newEncoder } from '../../src/encoder/index.js';
import type { ModelEvaluation, TrainingRecord } from '../../src/models/index.js';
import type { ReportInput } from '../../src/report/index.js';

const model_config = {
  name: 'reviews',
  type: 'multiclass-text-classification',
  family: 'Papaya',
  size: 'mini',
} as const;

/** training.json as the first version wrote it. */
export const aTrainingRecord: TrainingRecord = {
  model_config,
  training_config: { num_epochs: 3 },
  hyperparameters: { batchSize: 16, learningRate: 0.0005, language: 'english', lowercase: true },
  seed: 7,
  training_stats: {
    batch_size: 16,
    main_eval_metric: 'accuracy',
    best_eval_metric_value: 0.875,
    epoch: 3,
    metrics: {
      elapsed_time: [1, 2, 3],
      training: { loss: [1.25, 0.5, 0.375] },
      validation: { accuracy: [0.5, 0.8125, 0.75], f1: [0.4, 0.7, 0.65] },
    },
  },
  parts: {
    encoder: { accuracy: 0.8125, f1: 0.7, calibration_error: { before: 0.2, after: 0.05 } },
    expert: { accuracy: 0.84, f1: 0.8, calibration_error: { before: 0.3, after: 0.06 } },
    blend: { accuracy: 0.875, f1: 0.85, calibration_error: { before: 0.1, after: 0.025 } },
  },
  warnings: [
    {
      kind: 'duplicate_row',
      count: 1,
      message: '1 row is there twice',
      examples: [{ file: 'train.tsv', line: 4182 }],
    },
  ],
};

export const anEvaluation: ModelEvaluation = {
  format: 1,
  rows: 16,
  classes: [
    { label: 'good', precision: 0.9, recall: 0.9, f1: 0.9, support: 10 },
    { label: 'bad', precision: 0.5, recall: 0.25, f1: 0.333, support: 4 },
    { label: 'mixed', precision: 1, recall: 0.5, f1: 0.667, support: 2 },
  ],
  confusion: {
    labels: ['good', 'bad', 'mixed'],
    counts: [
      [9, 1, 0],
      [3, 1, 0],
      [1, 0, 1],
    ],
  },
  calibration: {
    bins: [
      { confidence: 0.55, accuracy: 0.5, rows: 4 },
      { confidence: 0.95, accuracy: 1, rows: 12 },
    ],
    error: 0.05,
    error_before: 0.1,
  },
  mistakes: [{ text: 'not bad at all', expected: ['good'], predicted: ['bad'], score: 0.91 }],
};

export interface ReportParts {
  readonly training?: Partial<TrainingRecord>;
  /** Null: none was written. */
  readonly evaluation?: Partial<ModelEvaluation> | null;
  readonly labels?: readonly string[];
  /** Default: a multiclass classifier. */
  readonly model?: Pick<ModelConfig, 'type' | 'family'>;
}

/** Of a report on entities. */
export const aTagger = { type: 'named-entity-recognition', family: 'Grapefruit' } as const;

/** A report in which only what the test is about differs. */
export function aReport({
  training,
  evaluation,
  labels = ['good', 'bad', 'mixed'],
  model = model_config,
}: ReportParts = {}): ReportInput {
  return {
    config: {
      architectures: ['BertModel'],
      id2label: {},
      label2id: {},
      ...newEncoder('mini', 16_000).config,
      orchard: {
        format: 1,
        family: model.family,
        type: model.type,
        size: 'mini',
        labels: [...labels],
        pooling: 'mean',
        lowercase: true,
        max_tokens: 256,
        files: [],
      },
    },
    training: { ...aTrainingRecord, model_config: { ...model_config, ...model }, ...training },
    ...(evaluation === null ? {} : { evaluation: { ...anEvaluation, ...evaluation } }),
  };
}
