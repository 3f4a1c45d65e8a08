import type { Result } from 'neverthrow';
import type { FamilyName, InferenceResult, ModelType } from '../contract/index.js';
import type { DatasetWarning } from '../datasets/index.js';
import type { BertConfig, Dropout, EncoderInputs, ParameterSpec, Pooling } from '../encoder/index.js';
import type { AbortedError, DatasetError, ModelFolderError } from '../errors.js';
import type { Graph, Tensor, TensorData } from '../graph/index.js';
import type { ModelFolderConfig } from '../model-folder/index.js';

/**
 * A kind of model as a value: how its archive is read, what stands on the encoder, what is measured, how
 * outputs become a documented result. Adding one takes a folder here and a line in the registry.
 */
export interface Family {
  readonly name: FamilyName;
  /** Reads and checks an unpacked archive. */
  readArchive(directory: string, type: ModelType): Result<TrainingTask, DatasetError>;
  /** Adds to a graph what turns token ids into this model's outputs, for inference. */
  exportedOutputs(
    graph: Graph,
    encoder: BertConfig,
    inputs: EncoderInputs,
    config: ModelFolderConfig,
  ): Tensor;
  /**
   * What turns one text and the encoder's outputs for it into the documented result.
   * @param expert the model folder's lexical expert, where it has one.
   */
  decoder(config: ModelFolderConfig, expert?: ExpertFile): Result<Decoder, ModelFolderError>;
}

export type Decoder = (text: string, outputs: Float32Array) => InferenceResult;

/** A lexical expert as it is stored. */
export interface ExpertFile {
  readonly bytes: Uint8Array;
  /** Named in errors. */
  readonly file: string;
}

/** What a training loop needs to know of one dataset; made by a family from an archive. */
export interface TrainingTask {
  readonly warnings: readonly DatasetWarning[];
  /** The texts to train and to evaluate on, row by row. */
  readonly train: readonly string[];
  readonly dev: readonly string[];
  /** The documented metric that decides which epoch is kept. */
  readonly mainMetric: 'accuracy' | 'f1';
  readonly head: TrainingHead;
  /** A copy of the task with edited copies of training rows added; dev stays as it is. */
  augmented(seed: number): TrainingTask;
  /** Measures the dev set. @param outputs [dev rows, outputs], in the order of `dev`. */
  evaluate(outputs: Float32Array): Scores;
  /** Trains the lexical expert on the training rows; an AbortedError soon after the signal fires. */
  trainExpert(options: ExpertOptions): Promise<Result<TrainedExpert, AbortedError>>;
  /** The fields of config.json that this task decides. */
  describe(): TaskDescription;
}

export interface ExpertOptions {
  readonly lowercase: boolean;
  /** Whether rare labels count as much as frequent ones. */
  readonly balanced: boolean;
  readonly seed: number;
  readonly signal: AbortSignal;
}

/** A lexical expert that waits for the encoder. */
export interface TrainedExpert {
  /** What the model folder keeps of it. */
  readonly bytes: Uint8Array;
  /** Weighs the two against each other. @param encoderOutputs [dev rows, outputs] of the finished encoder. */
  blend(encoderOutputs: Float32Array): Blend;
}

/**
 * What each expert alone and both together reach on dev, each calibrated for itself. Weights and thresholds were fitted
 * on dev too, so the figures are slightly flattered.
 */
export interface Blend {
  readonly encoder: PartFigures;
  readonly expert: PartFigures;
  readonly blend: PartFigures;
}

export interface PartFigures extends Scores {
  /** How the outputs of encoder and expert are mixed. */
  readonly weights: NonNullable<ModelFolderConfig['orchard']['blend']>;
  /** Expected calibration error of the raw outputs, and of the calibrated ones (0 is perfect). */
  readonly calibration_error: { readonly before: number; readonly after: number };
}

/** What stands on the encoder while training. */
export interface TrainingHead {
  /** Numbers per row that it computes. */
  readonly outputs: number;
  readonly pooling: Pooling;
  /** Its own parameters, beside the encoder's. */
  parameters(encoder: BertConfig): readonly ParameterSpec[];
  /** Adds encoder and head to a graph. @returns logits [batch, outputs]. */
  logits(graph: Graph, encoder: BertConfig, inputs: EncoderInputs, dropout: Dropout): Tensor;
  /** Adds the loss, a scalar: the weighted mean over the rows of a batch. */
  loss(graph: Graph, logits: Tensor): Tensor;
  /** What the loss is fed for these training rows. */
  targets(rows: readonly number[], options: TargetOptions): LossTargets;
}

/** How rows are told to the loss. */
export interface TargetOptions {
  /** Share of a row's target that is spread over all labels evenly (Szegedy et al. 2016), 0 to below 1. */
  readonly labelSmoothing: number;
  /** Whether rare labels count as much as frequent ones. */
  readonly balanced: boolean;
}

export interface LossTargets {
  readonly feeds: Readonly<Record<string, TensorData>>;
  /** What the loss is a mean over, so that batches can be accumulated: the rows, or their summed weights. */
  readonly weight: number;
}

/** Documented validation metrics of one evaluation. */
export interface Scores {
  readonly accuracy: number;
  readonly f1: number;
}

export type TaskDescription = Pick<
  ModelFolderConfig,
  'architectures' | 'id2label' | 'label2id' | 'problem_type'
> &
  Pick<ModelFolderConfig['orchard'], 'labels' | 'pooling'>;
