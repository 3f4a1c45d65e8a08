import type { Result } from 'neverthrow';
import type { FamilyName, InferenceResult, ModelType, Topk } from '../contract/index.js';
import type { DatasetWarning } from '../datasets/index.js';
import type { BertConfig, Dropout, EncoderInputs, ParameterSpec } from '../encoder/index.js';
import type { AbortedError, DatasetError, ModelFolderError } from '../errors.js';
import type { Graph, Tensor, TensorData } from '../graph/index.js';
import type { ModelEvaluation, ModelFolderConfig } from '../model-folder/index.js';
import type { Encoding } from '../tokenizer/index.js';

/**
 * A kind of model as a value: how its archive is read, what stands on the encoder, what is measured, how
 * outputs become a documented result. Adding one takes a folder here and a line in the registry.
 */
export interface Family {
  readonly name: FamilyName;
  readonly longTexts: LongTexts;
  /** Whether token types may tell the encoder capitals that its tokenizer folds away. */
  readonly marksCapitals: boolean;
  /** Reads and checks an unpacked archive. */
  readArchive(directory: string, type: ModelType): Result<TrainingTask, DatasetError>;
  /** Adds to a graph what turns token ids into this model's outputs, for inference. */
  exportedOutputs(
    graph: Graph,
    encoder: BertConfig,
    inputs: EncoderInputs,
    config: ModelFolderConfig,
  ): ExportedOutput;
  /** Further files that other libraries read, by name. */
  companions?(encoder: BertConfig, config: ModelFolderConfig): ReadonlyMap<string, Uint8Array>;
  /** What turns one text and the encoder's outputs for it into the documented result. */
  decoder(config: ModelFolderConfig, files: ModelFiles): Result<Decoder, ModelFolderError>;
}

/** What becomes of a text that is longer than the encoder reads: its end is cut off, or it is read in windows. */
export type LongTexts = 'truncate' | 'windows';

/** The output of an inference graph, named as other libraries expect it. */
export interface ExportedOutput {
  readonly name: string;
  /** [batch, outputs], or [batch, tokens, outputs]. */
  readonly tensor: Tensor;
}

export type Decoder = (text: string, outputs: TextOutputs) => InferenceResult;

/** What the encoder makes of one text, window by window; one window unless the text is long. */
export type TextOutputs = readonly WindowOutputs[];

export interface WindowOutputs {
  readonly encoding: Encoding;
  /** [outputs], or [tokens, outputs] where the head answers for each token. */
  readonly outputs: Float32Array;
}

/** A text, or a window of one, as the encoder reads it. */
export interface TextWindow {
  /** Which text, in the order of the task's rows. */
  readonly row: number;
  readonly encoding: Encoding;
}

/** The files of a model folder that its family alone understands, by name. */
export type ModelFiles = ReadonlyMap<string, ModelFile>;

export interface ModelFile {
  readonly bytes: Uint8Array;
  /** Its path, for errors. */
  readonly file: string;
}

/** What a training loop needs to know of one dataset; made by a family from an archive. */
export interface TrainingTask {
  readonly warnings: readonly DatasetWarning[];
  /** The texts to train and to evaluate on, row by row. */
  readonly train: readonly string[];
  readonly dev: readonly string[];
  /** How many examples these are, where texts are no examples by themselves: passages belong to questions. */
  readonly examples?: { readonly train: number; readonly dev: number };
  /** The documented metric that decides which epoch is kept; retrieval has none, and is judged by its ranks. */
  readonly mainMetric: 'accuracy' | 'f1' | undefined;
  readonly head: TrainingHead;
  /** A copy of the task with edited copies of training rows added; dev stays as it is. */
  augmented(seed: number): TrainingTask;
  /** Measures the dev set. @param outputs of each dev text. */
  evaluate(outputs: readonly TextOutputs[]): Scores;
  /** Trains the lexical expert on the training rows; an AbortedError soon after the signal fires. */
  trainExpert(options: ExpertOptions): Promise<Result<TrainedExpert, AbortedError>>;
  /** The fields of config.json that this task decides. */
  describe(): TaskDescription;
}

export interface ExpertOptions {
  readonly lowercase: boolean;
  /** As training_config names it. */
  readonly language: string;
  /** Whether rare labels count as much as frequent ones. */
  readonly balanced: boolean;
  readonly seed: number;
  readonly signal: AbortSignal;
}

/** A lexical expert that waits for the encoder. */
export interface TrainedExpert {
  /** Where examples are not single texts but texts to be compared: which ones, the expert may choose. */
  readonly pairs?: PairTraining;
  /** Weighs the two against each other. @param outputs of the finished encoder for each dev text. */
  finish(outputs: readonly TextOutputs[]): FinishedTask;
}

/** What a training comes to beside the encoder's weights. */
export interface FinishedTask {
  readonly blend: Blend;
  /** Files that the decoder wants to have back, by name. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Of the blend, for the report; absent where there is no more to tell than the scores. */
  readonly evaluation?: ModelEvaluation;
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
  /** Of classifiers: expected calibration error of the raw outputs, and of the calibrated ones (0 is perfect). */
  readonly calibration_error?: { readonly before: number; readonly after: number };
}

/** Encoder, head and loss as a graph, for any engine that feeds the loss what it asks for. */
export interface LossHead {
  /** How many numbers it computes for each text, or for each token. */
  outputs(encoder: BertConfig): number;
  /** Adds encoder and head to a graph. @returns [batch, outputs], or [tokens, batch, outputs]. */
  logits(graph: Graph, encoder: BertConfig, inputs: EncoderInputs, dropout: Dropout): Tensor;
  /** Adds the loss, a scalar: the weighted mean over the texts or tokens of a batch. */
  loss(graph: Graph, logits: Tensor): Tensor;
}

/** What stands on the encoder while training. */
export interface TrainingHead extends LossHead {
  readonly per: 'text' | 'token';
  /** The encoder's parameters and its own. */
  parameters(encoder: BertConfig): readonly ParameterSpec[];
  /** What the loss is fed for these training texts, padded to the longest. */
  targets(batch: readonly TextWindow[], options: TargetOptions): LossTargets;
}

/** Training on texts that are compared with each other, so that a batch can't be cut into independent rows. */
export interface PairTraining {
  /** Rows of `train` that make up each example: a question, the passage that answers it, passages that don't. */
  readonly examples: readonly (readonly number[])[];
  /** The loss of a batch over the encoder's outputs for its texts, each `width` numbers. */
  loss(width: number): PairLoss;
  /** What the loss is fed for a batch of these examples, beside the outputs. */
  feeds(batch: readonly number[]): Readonly<Record<string, TensorData>>;
}

/** A graph whose only parameters are outputs of the encoder. */
export interface PairLoss {
  readonly graph: Graph;
  /** [questions, outputs], in the order of the batch. */
  readonly questions: Tensor;
  /** [passages, outputs]: those of the first example, then those of the second, and so on. */
  readonly passages: Tensor;
  readonly loss: Tensor;
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
  /** What the loss is a mean over, so that batches can be accumulated: the rows, or their summed weights. Above 0. */
  readonly weight: number;
}

/** Documented validation metrics of one evaluation. */
export interface Scores {
  readonly accuracy?: number;
  readonly f1?: number;
  readonly topk?: Topk;
  /** What decides which epoch is kept: the main metric, or the mean reciprocal rank. */
  readonly value: number;
}

export type TaskDescription = Pick<
  ModelFolderConfig,
  'architectures' | 'id2label' | 'label2id' | 'problem_type'
> &
  Pick<ModelFolderConfig['orchard'], 'labels' | 'pooling' | 'words'>;
