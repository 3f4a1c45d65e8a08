import type { AnswerView, FamilyName, InferenceResult, ModelType, Tier, Topk } from '../contract/index.js';
import type { DatasetWarning } from '../datasets/index.js';
import type { Encoder, EncoderInputs } from '../encoder/index.js';
import type { TrainingHead } from '../engine/index.js';
import type { Graph, Tensor } from '../graph/index.js';
import type { BlendWeights, Evidence, ModelEvaluation, ModelFolderConfig, NamedTensor } from '../models/index.js';
import type { TextOutputs } from '../text/index.js';
import type { Explainer, ModelResult } from './explanation.js';
import type { CheckedRowSets, Dataset, RowSets } from './row-sets.js';

/**
 * A kind of model as a value: how its rows are read, which head stands on the encoder, what is measured and
 * how outputs become a result. Everything in which families differ is here, so no other code asks which
 * family it deals with. A new family is a folder here and an entry in families.ts.
 */
export interface Family {
  readonly name: FamilyName;
  /** The tier that an account needs to train it. */
  readonly tier: Tier;
  /**
   * How long training lasts unless the request says: from random weights (docs/training.md), and from a
   * backbone (docs/backbones.md).
   */
  readonly durations: { readonly scratch: Duration; readonly backbone: Duration };
  /** How its answers are best shown to people. */
  readonly answerView: AnswerView;
  readonly longTexts: LongTexts;
  /**
   * Ending of the names of backbones that were made for it: `entities`, if `english-mini-entities` is to be taken before
   * `english-mini`. Default: it takes what all take.
   */
  readonly backboneEnding?: string;
  /** Whether token types may tell the encoder which words had capitals, if its tokenizer folds case. */
  readonly marksCapitals: boolean;
  /** The classes that a model of it tells apart. */
  classNames(config: ModelFolderConfig): ClassNames;
  /** How its rows are read, checked and written, loaded on first use: a program that only predicts doesn't need it. */
  rows(): Promise<FamilyRows>;
  /** How it is trained, loaded on first use. */
  training(): Promise<FamilyTraining>;
  /**
   * Makes the function that turns a text and the encoder's outputs for it into a result.
   * @throws ModelFolderError for a file that is missing or doesn't fit.
   */
  decoder(config: ModelFolderConfig, files: ModelFiles): Promise<Decoder>;
}

/** How archives and tables become what a family trains on. */
export interface FamilyRows<Made extends Dataset = Dataset> {
  /**
   * Reads and checks an unpacked archive.
   * @throws DatasetError with every problem; AbortedError soon after the signal fires.
   */
  read(directory: string, type: ModelType, signal?: AbortSignal): Promise<Made>;
  /**
   * Checks rows, leaves out repeated ones, and sets some aside for dev unless dev rows are given.
   * @throws DatasetError with every problem; AbortedError soon after the signal fires.
   */
  check(sets: RowSets, type: ModelType, signal?: AbortSignal): Promise<CheckedRowSets<Made>>;
  /**
   * The files of an archive, by their paths in its folder: text, or an object that becomes JSON.
   * @param name of the dataset.
   */
  write(dataset: Made, name: string): Readonly<Record<string, string | object>>;
}

/** How a family's datasets become tasks, and the trained encoders model folders. */
export interface FamilyTraining<Made extends Dataset = Dataset> {
  /** @param dataset of {@link FamilyRows}. */
  task(dataset: Made): TrainingTask;
  /** Adds the operations from token ids to this model's outputs to a graph for inference. */
  exportedOutputs(graph: Graph, encoder: Encoder, inputs: EncoderInputs, config: ModelFolderConfig): ExportedOutput;
  /** The class of transformers that loads the folder, where that isn't the encoder's own for the pooling. */
  transformersClass?(config: ModelFolderConfig): TransformersClass | undefined;
  /** Extra files in the model folder for other libraries, by name. */
  companions?(encoder: Encoder, config: ModelFolderConfig): ReadonlyMap<string, Uint8Array>;
  /** Further tensors of model.safetensors, for other libraries, by name. */
  companionTensors?(encoder: Encoder, config: ModelFolderConfig): ReadonlyMap<string, NamedTensor>;
}

/** What types of models differ in, within a family. */
export interface TypeFacts {
  /** Another type that names the same task: a filter by either finds both. */
  readonly sameTaskAs?: ModelType;
  /** The metric that decides which epoch is kept; undefined for retrieval, which is judged by its ranks. */
  readonly mainMetric: 'accuracy' | 'f1' | undefined;
  /** Share of a row's target that is spread evenly over all labels. Tuning overrides it. Default: training's own. */
  readonly labelSmoothing?: number;
  readonly card: CardFacts;
}

/** What a model's card says about its type. */
export interface CardFacts {
  /** What the model does, as words after "it": `gives a text one of two labels`. */
  readonly does: string;
  /** The Hub's name for the task, its pipeline_tag. */
  readonly pipeline: string;
  /** How other libraries run the encoder alone, in Markdown. */
  readonly usage: string;
}

/** How long training lasts. */
export interface Duration {
  /** Training rows read over all epochs, as far as the two limits allow. */
  readonly rows: number;
  readonly minEpochs: number;
  readonly maxEpochs: number;
}

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

/** Makes a result of a text and the encoder's outputs for it. */
export interface Decoder {
  (text: string, outputs: TextOutputs): ModelResult;
  /**
   * The same in steps of some milliseconds each, where a long text takes longer: the work of others, for the same model
   * too, goes between them. Absent where even the longest query is decoded quickly.
   */
  readonly inSteps?: (text: string, outputs: TextOutputs) => Generator<undefined, InferenceResult>;
  /** How its answers are explained. Absent: they can't be. */
  readonly explainer?: Explainer;
}

/** The files of a model folder that its family alone understands, by name. */
export type ModelFiles = ReadonlyMap<string, ModelFile>;

export interface ModelFile {
  readonly bytes: Uint8Array;
  /** Its path, for errors. */
  readonly file: string;
}

/** What the training loop needs to know about a dataset; a family makes it from an archive. */
export interface TrainingTask<Head extends TrainingHead = TrainingHead> {
  readonly warnings: readonly DatasetWarning[];
  /** The texts to train and to evaluate on, row by row. */
  readonly train: readonly string[];
  readonly dev: readonly string[];
  /** The numbers of examples, where not every text is one: in retrieval, texts are questions and passages. */
  readonly examples?: { readonly train: number; readonly dev: number };
  /** As in {@link TypeFacts}. */
  readonly mainMetric: TypeFacts['mainMetric'];
  readonly head: Head;
  /** A copy of the task with edited copies of training rows added; dev stays as it is. */
  augmented(options: AugmentOptions): TrainingTask<Head>;
  /** Measures the dev set. @param outputs of each dev text. @throws AbortedError soon after the signal fires. */
  evaluate(outputs: readonly TextOutputs[], signal?: AbortSignal): Scores | Promise<Scores>;
  /** Trains the lexical expert on the training rows. @throws AbortedError soon after the signal fires. */
  trainExpert(options: ExpertOptions): Promise<TrainedExpert>;
  /** Bytes of memory that training the lexical expert takes at most, roughly. Default 0. */
  expertBytes?(): number;
  /** The fields of config.json that this task decides. */
  describe(): TaskDescription;
}

export interface AugmentOptions {
  /** The same seed gives the same copies. */
  readonly seed: number;
  /** Whether the model tells no upper from lower case. */
  readonly lowercase: boolean;
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

/** A trained lexical expert that isn't blended with the encoder yet. */
export interface TrainedExpert {
  /**
   * Blends expert and encoder.
   * @param outputs of the finished encoder for each dev text.
   * @throws AbortedError soon after the signal fires.
   */
  finish(outputs: readonly TextOutputs[], signal?: AbortSignal): FinishedTask | Promise<FinishedTask>;
}

/** What training yields besides the encoder's weights. */
export interface FinishedTask {
  readonly blend: Blend;
  /** Files that the decoder will need, by name. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** How the blend did on dev, for the report; absent where the scores say it all. */
  readonly evaluation?: ModelEvaluation;
  /** What its scores rest on, where they are held back by it. */
  readonly evidence?: Evidence;
}

/**
 * The dev figures of each expert alone and of both together, each calibrated separately. Weights and
 * thresholds were fitted on dev too, so the figures are slightly optimistic.
 */
export interface Blend {
  /** The encoder alone. */
  readonly encoder: PartFigures;
  /** The lexical expert alone. */
  readonly expert: PartFigures;
  /** Both together, as the model answers. */
  readonly blend: PartFigures;
}

/** What one way to answer reaches on dev. */
export interface PartFigures extends Scores {
  /** How the outputs of encoder and expert are mixed; the part that is left out has the weight 0. */
  readonly weights: BlendWeights;
  /** Classifiers only: expected calibration error of the raw and of the calibrated outputs (0 is perfect). */
  readonly calibration_error?: { readonly before: number; readonly after: number };
}

/** Validation metrics of one evaluation; a model has those of its kind. */
export interface Scores {
  /** Classification, 0 to 1. */
  readonly accuracy?: number;
  /** Classification and entity labelling, 0 to 1. */
  readonly f1?: number;
  /** Questions. */
  readonly topk?: Topk;
  /** What decides which epoch is kept: the main metric, or the mean reciprocal rank. */
  readonly value: number;
}

/** Fields of config.json that name a class of transformers. */
export interface TransformersClass {
  readonly architectures: string[];
  /** Classes that the folder has, by the class of transformers that looks them up: `file.Class`. */
  readonly auto_map: Readonly<Record<string, string>>;
}

export type TaskDescription = Pick<ModelFolderConfig, 'id2label' | 'label2id' | 'problem_type'> &
  Pick<ModelFolderConfig['orchard'], 'labels' | 'pooling' | 'words'>;
