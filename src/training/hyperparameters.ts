import {
  DEFAULT_BATCH_SIZE,
  type EFFORTS,
  type ModelConfig,
  type ModelSize,
  type TrainingConfig,
} from '../contract/index.js';
import type { Encoder } from '../encoder/index.js';
import type { Adapters, AdapterTarget } from '../engine/index.js';
import { type Duration, families, typeFacts } from '../families/index.js';
import type { Backbone } from './backbone.js';

/** Low-rank adapters: a layer's W becomes W + (alpha / rank)·B·A, of which A and B learn. */
export interface AdapterTuning {
  /** Rows of A and columns of B, 1 to 1,024. Default 8. */
  readonly rank?: number;
  /** Above 0. Default: the rank. */
  readonly alpha?: number;
  /**
   * The linear layers of the encoder that have adapters: `query`, `key`, `value` and `attention-output` of the attention,
   * `inner` and `outer` of the feed-forward block. Default `query` and `value`.
   */
  readonly targets?: readonly AdapterTarget[];
  /** Probability of dropout on what A reads, at least 0 and below 1. Default 0. */
  readonly dropout?: number;
}

/** Rank and targets of RoBERTa's adapters: Hu et al. 2021, table 9. */
const ADAPTER_RANK = 8;
const ADAPTER_TARGETS: readonly AdapterTarget[] = ['query', 'value'];
/**
 * How many times the learning rate of the whole backbone adapters have: low-rank matrices want ten times as much and more
 * (Biderman et al. 2024, "LoRA Learns Less and Forgets Less"). measured on three backbones: docs/adapters.md.
 */
const ADAPTER_RATE_FACTOR = 20;

export function adaptersOf({ adapters, freeze }: Tuning): Adapters | undefined {
  if (adapters === undefined) return undefined;
  const { rank = ADAPTER_RANK, alpha = rank, targets = ADAPTER_TARGETS, dropout = 0 } = adapters;
  return { rank, alpha, targets, dropout, lowest: typeof freeze === 'number' ? freeze : 0 };
}

/** The default learning rate. @param backboneRate that of the whole backbone; undefined if there is none. */
function tunedRate({ adapters }: Tuning, backboneRate: number | undefined): number | undefined {
  return adapters && backboneRate ? ADAPTER_RATE_FACTOR * backboneRate : backboneRate;
}

function tunedParts(tuning: Tuning): Partial<Hyperparameters> {
  const adapters = adaptersOf(tuning);
  const { freeze } = tuning;
  if (adapters === undefined) {
    if (freeze === undefined) return {};
    return { frozen: freeze === 'embeddings' ? freeze : `embeddings and layers: ${freeze}` };
  }
  return {
    frozen: 'the backbone',
    adapterRank: adapters.rank,
    adapterAlpha: adapters.alpha,
    adapterTargets: adapters.targets.join(', '),
    adapterDropout: adapters.dropout,
  };
}

const options = { type: 'language', fallback: 'none', languageDisplay: 'standard' } as const;
/** Created on first use: it takes milliseconds that a mere prediction needn't wait for. */
let names: Intl.DisplayNames | undefined;

/** The English name of a language in lower case: `English `, `en` and `en-GB` are all `english`. */
export function languageName(written: string): string {
  const plain = written.trim().toLowerCase();
  const [code = ''] = plain.split(/[-_]/u);
  return (/^[a-z]{2,3}$/u.test(code) ? englishName(code) : undefined) ?? plain;
}

/** Of a code, in lower case; undefined for one that has none. */
function englishName(code: string): string | undefined {
  names ??= new Intl.DisplayNames(['en'], options);
  return names.of(code)?.toLowerCase();
}

/** Whether a language is known by this name or code. */
export function isLanguage(written: string): boolean {
  const name = languageName(written);
  // A code becomes a name; what isn't changed is a name, or neither.
  return name !== written.trim().toLowerCase() || languageNames().includes(name);
}

/** English names of the languages with a code of two letters, in lower case. */
export function languageNames(): readonly string[] {
  const letters = [...'abcdefghijklmnopqrstuvwxyz'];
  return letters.flatMap((first) => letters.flatMap((second) => englishName(first + second) ?? []));
}

/** Every choice of a run, with the defaults filled in. */
export interface Hyperparameters {
  readonly batchSize: number;
  /** Highest learning rate, reached after the warm-up. */
  readonly learningRate: number;
  readonly epochs: number;
  /** Most tokens that are read at once. A job that truncates longer texts says so in a warning. */
  readonly maxTokens: number;
  readonly language: string;
  readonly lowercase: boolean;
  readonly augment: boolean;
  /** Whether to start from a backbone, if there is one. */
  readonly pretrained: boolean;
  /** Share of the tokens that are replaced by [MASK] at each step. */
  readonly tokenDropout: number;
  /** Label smoothing: share of a row's target that is spread evenly over all labels. */
  readonly labelSmoothing: number;
  /** Whether labels are weighted so that rare ones count as much as frequent ones. */
  readonly balanced: boolean;
  /** Of the adapters, if the job trains them; `adapterTargets` has the layers, separated by commas. */
  readonly adapterRank?: number;
  readonly adapterAlpha?: number;
  readonly adapterTargets?: string;
  readonly adapterDropout?: number;
  /** What of the backbone stays as it is, unless nothing does. */
  readonly frozen?: string;
}

/**
 * How much time to spend on a better model (docs/few-rows.md). With up to 20,000 rows, `quick` leaves the encoder as it
 * is. `balanced` trains it if there are at least 40 rows; `thorough`, if there are at least 16, and for longer if there
 * are more than 300.
 */
export type Effort = (typeof EFFORTS)[number];

/** Settings beyond training_config. */
export interface Tuning {
  /**
   * Classifiers and entity models only. Default `balanced`. Without effect if other options ask for the encoder to be
   * trained.
   */
  readonly effort?: Effort;
  /**
   * Share of the tokens that are replaced by [MASK] at each step, at least 0 and below 1. Default 0.15, for
   * short texts 0.05.
   */
  readonly tokenDropout?: number;
  /**
   * Label smoothing: share of a row's target that is spread evenly over all labels, at least 0 and below 1.
   * Default 0.1, unless the type has its own.
   */
  readonly labelSmoothing?: number;
  /** `balanced` gives rare labels the same weight in total as frequent ones. Default `none`. */
  readonly classWeights?: 'none' | 'balanced';
  /**
   * Whether the model may answer with 8-bit weights. It does if they cost at most half a point on dev, and always if it
   * is a classifier or entity model trained on few rows; its folder then holds both graphs. Default true. If the executor
   * does not support them, the model answers in float32.
   */
  readonly quantize?: boolean;
  /**
   * Trains small low-rank adapters (LoRA: Hu et al. 2021) and the head, while the weights of the backbone, which is
   * required, don't change. The adapters are merged when the model is written, so it is like any other model. Default:
   * none; every weight is trained.
   */
  readonly adapters?: AdapterTuning;
  /**
   * Which part of the backbone is not trained: `embeddings`, or a number for the embeddings and that many layers, from
   * the lowest. With `adapters`, no weight of the backbone is trained, and the layers counted here have no adapters.
   * Default: the whole backbone is trained.
   */
  readonly freeze?: 'embeddings' | number;
}

const DEFAULT_LANGUAGE = 'english';

/** Most tokens that an encoder trained from random weights reads at once. */
export const MAX_TOKENS = 256;

export const MAX_VOCABULARY = 16_000;

/** Share of the steps in which the learning rate warms up (docs/training.md). */
export const WARMUP_FRACTION = 0.1;

/**
 * Share of the tokens that are replaced by [MASK] at each step (docs/training.md); short texts have few
 * tokens to spare.
 */
const TOKEN_DROPOUT = 0.15;
const SHORT_TEXT_TOKEN_DROPOUT = 0.05;
/** Texts up to this long on average, in UTF-16 code units, are short. */
const SHORT_TEXT = 60;

/** From the sweep in docs/training-defaults.md. Types that it does not suit have their own. */
const LABEL_SMOOTHING = 0.1;

/** Peak learning rates from random weights, from the sweep in docs/training-defaults.md. */
const learningRates: Readonly<Record<ModelSize, number>> = { mini: 5e-4, base: 3e-4 };

/** Layers times width of the largest encoders that take {@link SMALL_ENCODER_RATE}: 6 × 384. */
const SMALL_ENCODER = 2304;
const SMALL_ENCODER_RATE = 3e-4;
/**
 * Learning rate times layers times width of larger ones: 1e-4 for 12 × 384, measured (docs/backbones.md), and with it
 * 5e-5 for 12 × 768 and 1.9e-5 for 24 × 1024, as in Devlin et al. 2019, A.3.
 */
const RATE_TIMES_SIZE = 0.4608;

/**
 * Peak learning rate from a backbone: deeper and wider encoders need lower ones. A backbone has its own geometry, so
 * the size that was asked for plays no part.
 */
export function backboneLearningRate({ layers, width }: Pick<Encoder, 'layers' | 'width'>): number {
  const size = layers * width;
  return size <= SMALL_ENCODER ? SMALL_ENCODER_RATE : Number((RATE_TIMES_SIZE / size).toPrecision(2));
}

const SMALL_DATASET = 2000;
const SMALL_BATCH_SIZE = 16;

/**
 * Texts longer than this on average, in UTF-16 code units, cost several times as much, so that fewer epochs
 * do: {@link LONG_TEXT_MIN_EPOCHS}.
 */
const LONG_TEXT = 600;
const LONG_TEXT_MIN_EPOCHS = 2;

function defaultEpochs({ rows, minEpochs, maxEpochs }: Duration, texts: readonly string[]): number {
  const fewest = meanLength(texts) > LONG_TEXT ? Math.min(minEpochs, LONG_TEXT_MIN_EPOCHS) : minEpochs;
  return Math.min(maxEpochs, Math.max(fewest, Math.ceil(rows / Math.max(1, texts.length))));
}

const meanLength = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + text.length, 0) / Math.max(1, texts.length);

/**
 * @param texts texts of the training rows; for retrieval, of the questions.
 * @param backbone what training starts from. Unless the request says otherwise, `lowercase` is the
 *   backbone's.
 */
export function resolveHyperparameters(
  model: ModelConfig,
  training: TrainingConfig,
  texts: readonly string[],
  tuning: Tuning = {},
  backbone?: Pick<Backbone, 'encoder' | 'lowercase' | 'maxTokens'>,
): Hyperparameters {
  const rows = texts.length;
  const { durations } = families[model.family];
  const backboneRate = backbone && backboneLearningRate(backbone.encoder);
  const duration = backbone ? durations.backbone : durations.scratch;
  const ownSmoothing = typeFacts[model.type].labelSmoothing;
  return {
    batchSize: training.batch_size ?? (rows < SMALL_DATASET ? SMALL_BATCH_SIZE : DEFAULT_BATCH_SIZE),
    learningRate: training.learning_rate ?? tunedRate(tuning, backboneRate) ?? learningRates[model.size],
    epochs: training.num_epochs ?? defaultEpochs(duration, texts),
    maxTokens: backbone?.maxTokens ?? MAX_TOKENS,
    language: trainingLanguage(training),
    lowercase: askedLowercase(model, training) ?? backbone?.lowercase ?? true,
    augment: training.data_augmentation ?? false,
    pretrained: training.use_pretrained ?? true,
    tokenDropout: tuning.tokenDropout ?? (isShort(texts) ? SHORT_TEXT_TOKEN_DROPOUT : TOKEN_DROPOUT),
    labelSmoothing: tuning.labelSmoothing ?? ownSmoothing ?? LABEL_SMOOTHING,
    balanced: tuning.classWeights === 'balanced',
    ...tunedParts(tuning),
  };
}

export function trainingLanguage({ language = DEFAULT_LANGUAGE }: Pick<TrainingConfig, 'language'>): string {
  return languageName(language);
}

/** `preprocessing.lowercase` of the request, from whichever of its two places has it. */
export function askedLowercase(model: ModelConfig, training: TrainingConfig): boolean | undefined {
  return model.preprocessing?.lowercase ?? training.preprocessing?.lowercase;
}

const isShort = (texts: readonly string[]): boolean => meanLength(texts) <= SHORT_TEXT;

/** Epochs without a better main metric after which training stops: half of them, at least 3. */
export function patienceFor(epochs: number): number {
  return Math.max(3, Math.ceil(epochs / 2));
}
