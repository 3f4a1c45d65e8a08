import type { AnswerView, FamilyName, InferenceResult, ModelType, Tier, Topk } from '../contract/index.js';
import type { DatasetWarning, DatasetWarningKind } from '../datasets/index.js';
import type { BertConfig, EncoderInputs } from '../encoder/index.js';
import type { TrainingHead } from '../engine/index.js';
import type { Graph, Tensor } from '../graph/index.js';
import type { ModelEvaluation, ModelFolderConfig } from '../model-folder/index.js';
import type { TextOutputs } from '../text-reader/index.js';

/**
 * A kind of model as a value: how its archive is read, what stands on the encoder, what is measured, how outputs become
 * a result. All that tells it from other kinds is here, so that no other code asks which family it deals with. Adding
 * one takes a folder here and a line in the registry; `registerFamily` adds one from elsewhere.
 */
export interface Family {
  readonly name: FamilyName;
  readonly types: readonly FamilyType[];
  /** The tier that training it takes. */
  readonly tier: Tier;
  /**
   * How long it trains unless the request says: from random weights (by the sweep in docs/training.md), and from a
   * backbone (docs/backbones.md), which knows the language and needs to read a dataset less often.
   */
  readonly durations: { readonly scratch: Duration; readonly backbone: Duration };
  /** What {@link TrainingTask.evaluate} gives and jobs report. */
  readonly metrics: readonly Metric[];
  /** What its archives may bring warnings of. */
  readonly warningKinds: readonly DatasetWarningKind[];
  /** How its answers are best shown to people. */
  readonly answerView: AnswerView;
  readonly longTexts: LongTexts;
  /** Whether token types may tell the encoder capitals that its tokenizer folds away. */
  readonly marksCapitals: boolean;
  /** What a model of it tells apart. */
  classNames(config: ModelFolderConfig): ClassNames;
  /** Reads and checks an unpacked archive. @throws DatasetError with every problem. */
  readArchive(directory: string, type: ModelType): TrainingTask;
  /** Adds to a graph what turns token ids into this model's outputs, for inference. */
  exportedOutputs(
    graph: Graph,
    encoder: BertConfig,
    inputs: EncoderInputs,
    config: ModelFolderConfig,
  ): ExportedOutput;
  /** Further files that other libraries read, by name. */
  companions?(encoder: BertConfig, config: ModelFolderConfig): ReadonlyMap<string, Uint8Array>;
  /**
   * What turns one text and the encoder's outputs for it into a result.
   * @throws ModelFolderError for a file that is missing or doesn't fit.
   */
  decoder(config: ModelFolderConfig, files: ModelFiles): Decoder;
}

/** A type of model, as model_config names it. */
export interface FamilyType {
  readonly name: ModelType;
  /** An earlier type of the family whose task this is too: a filter by either finds both. */
  readonly sameTaskAs?: ModelType;
  /** The metric that decides which epoch is kept; retrieval has none, and is judged by its ranks. */
  readonly mainMetric: 'accuracy' | 'f1' | undefined;
  /** Share of a row's target that is spread over all labels evenly, unless tuning says otherwise. Default: training's. */
  readonly labelSmoothing?: number;
  readonly card: CardFacts;
}

/** What the card of a model says of its type. */
export interface CardFacts {
  /** What it does, in words that follow "it": `gives a text one of two labels`. */
  readonly does: string;
  /** The Hub's name for the task, its pipeline_tag. */
  readonly pipeline: string;
  /** How other libraries run the encoder alone, in Markdown. */
  readonly usage: string;
}

/** How long a training goes on. */
export interface Duration {
  /** Rows read in all, unless that makes too few or too many epochs. */
  readonly rows: number;
  readonly minEpochs: number;
  readonly maxEpochs: number;
}

/** A validation metric of a job. */
export type Metric = 'accuracy' | 'f1' | 'topk';

/** The classes of a model, by what one of them is called: `label`, `entity type`. */
export interface ClassNames {
  readonly noun: string;
  readonly names: readonly string[];
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

/** The files of a model folder that its family alone understands, by name. */
export type ModelFiles = ReadonlyMap<string, ModelFile>;

export interface ModelFile {
  readonly bytes: Uint8Array;
  /** Its path, for errors. */
  readonly file: string;
}

/** What a training loop needs to know of one dataset; made by a family from an archive. */
export interface TrainingTask<Head extends TrainingHead = TrainingHead> {
  readonly warnings: readonly DatasetWarning[];
  /** The texts to train and to evaluate on, row by row. */
  readonly train: readonly string[];
  readonly dev: readonly string[];
  /** How many examples these are, where texts are no examples by themselves: passages belong to questions. */
  readonly examples?: { readonly train: number; readonly dev: number };
  /** That of its type. */
  readonly mainMetric: FamilyType['mainMetric'];
  readonly head: Head;
  /** A copy of the task with edited copies of training rows added; dev stays as it is. */
  augmented(seed: number): TrainingTask<Head>;
  /** Measures the dev set. @param outputs of each dev text. */
  evaluate(outputs: readonly TextOutputs[]): Scores;
  /** Trains the lexical expert on the training rows. @throws AbortedError soon after the signal fires. */
  trainExpert(options: ExpertOptions): Promise<TrainedExpert>;
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

/** Validation metrics of one evaluation. */
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
