import {
  DEFAULT_BATCH_SIZE,
  type ModelConfig,
  type ModelSize,
  type TrainingConfig,
} from '../contract/index.js';

/** Every choice of a run, with the defaults filled in. */
export interface Hyperparameters {
  readonly batchSize: number;
  /** Highest learning rate, reached after the warm-up. */
  readonly learningRate: number;
  readonly epochs: number;
  readonly language: string;
  readonly lowercase: boolean;
  readonly augment: boolean;
  readonly pretrained: boolean;
  /** Share of the tokens that each step hides from the model. */
  readonly tokenDropout: number;
  /** Share of a row's target that is spread over all labels evenly. */
  readonly labelSmoothing: number;
  /** Whether rare labels count as much as frequent ones. */
  readonly balanced: boolean;
}

/** Choices beyond the documented training_config. */
export interface Tuning {
  /** Share of the tokens hidden behind [MASK] at each step, 0 to below 1. Default 0.15, in short texts 0.05. */
  readonly tokenDropout?: number;
  /** Share of a row's target that is spread over all labels evenly, 0 to below 1. Default 0.1; 0 for multilabel. */
  readonly labelSmoothing?: number;
  /** `balanced` lets rare labels count as much as frequent ones. Default `none`. */
  readonly classWeights?: 'none' | 'balanced';
}

const DEFAULT_LANGUAGE = 'english';

/** The most tokens that are read at once. A job that cuts longer texts says so in a warning. */
export const MAX_TOKENS = 256;
/** Tokens that neighbouring windows of a long text share, where it is read in windows. */
export const WINDOW_OVERLAP = 64;

/** Entries of a vocabulary trained from scratch, at most; small datasets fill fewer. */
export const MAX_VOCABULARY = 16_000;

/** Share of the steps that warm the learning rate up (docs/training.md). */
export const WARMUP_FRACTION = 0.1;

/** Share of tokens hidden at each step of a training from random weights (docs/training.md); little is to spare in short texts. */
const TOKEN_DROPOUT = 0.15;
const SHORT_TEXT_TOKEN_DROPOUT = 0.05;
/** Texts up to this long on average, in UTF-16 code units, are short. */
const SHORT_TEXT = 60;

/** Where each row has one label; by the sweep in docs/training.md. */
const LABEL_SMOOTHING = 0.1;

/** Gradients are scaled down to this joint norm, as in BERT's fine-tuning. */
export const MAX_GRADIENT_NORM = 1;

/** Peak learning rates from random weights, by the sweep in docs/training.md. */
const learningRates: Readonly<Record<ModelSize, number>> = { mini: 5e-4, base: 3e-4 };

/** Texts that a training from random weights reads in all; it decides the default number of epochs. */
const TEXTS_TO_READ = 40_000;
const MIN_EPOCHS = 3;
const MAX_EPOCHS = 30;

/** Datasets with fewer rows take more and smaller steps. */
const SMALL_DATASET = 2000;
const SMALL_BATCH_SIZE = 16;

/** Small datasets are read more often: 30 epochs up to 1,334 rows, 3 from 13,334 on. */
export function defaultEpochs(rows: number): number {
  return Math.min(MAX_EPOCHS, Math.max(MIN_EPOCHS, Math.ceil(TEXTS_TO_READ / Math.max(1, rows))));
}

/** @param texts those of the training rows. */
export function resolveHyperparameters(
  model: ModelConfig,
  training: TrainingConfig,
  texts: readonly string[],
  tuning: Tuning = {},
): Hyperparameters {
  const rows = texts.length;
  const lowercase = model.preprocessing?.lowercase ?? training.preprocessing?.lowercase ?? true;
  return {
    batchSize: training.batch_size ?? (rows < SMALL_DATASET ? SMALL_BATCH_SIZE : DEFAULT_BATCH_SIZE),
    learningRate: training.learning_rate ?? learningRates[model.size],
    epochs: training.num_epochs ?? defaultEpochs(rows),
    language: training.language ?? DEFAULT_LANGUAGE,
    lowercase,
    augment: training.data_augmentation ?? false,
    pretrained: training.use_pretrained ?? true,
    tokenDropout: tuning.tokenDropout ?? (isShort(texts) ? SHORT_TEXT_TOKEN_DROPOUT : TOKEN_DROPOUT),
    labelSmoothing: tuning.labelSmoothing ?? (isMultilabel(model) ? 0 : LABEL_SMOOTHING),
    balanced: tuning.classWeights === 'balanced',
  };
}

const isShort = (texts: readonly string[]): boolean =>
  texts.reduce((sum, text) => sum + text.length, 0) <= SHORT_TEXT * texts.length;

const isMultilabel = ({ type }: ModelConfig): boolean => type === 'multilabel-text-classification';

/** Epochs without a better main metric after which training stops: half of them, at least 3. */
export function patienceFor(epochs: number): number {
  return Math.max(3, Math.ceil(epochs / 2));
}
