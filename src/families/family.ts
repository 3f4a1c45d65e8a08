import type { InferenceResult, ModelType, Tier, Topk } from '../contract/index.js';
import type { DatasetWarning, TagDoubt } from '../datasets/index.js';
import type { Encoder, EncoderInputs } from '../encoder/index.js';
import type { LinearFit, RowHead, TrainingHead } from '../engine/index.js';
import type { Graph, GraphExecutor, Tensor } from '../graph/index.js';
import type { BlendWeights, Evidence, ModelEvaluation, ModelFolderConfig, NamedTensor } from '../models/index.js';
import type { TextOutputs } from '../text/index.js';
import type { AnsweringFamily } from './answering.js';
import type { Explainer, ModelResult } from './explanation.js';
import type { CheckedRowSets, Dataset, RowSets } from './row-sets.js';
import type { RuleSet } from './rules.js';

/**
 * A kind of model as a value: how its rows are read, which head stands on the encoder, what is measured and
 * how outputs become a result. Everything in which families differ is here, so no other code asks which
 * family it deals with. A new family is a folder here and an entry in families.ts.
 */
export interface Family extends AnsweringFamily {
  /** The tier that an account needs to train it. */
  readonly tier: Tier;
  /** Unless the request says: from random weights (docs/training.md), and from a backbone (docs/backbones.md). */
  readonly durations: { readonly scratch: Duration; readonly backbone: Duration };
  readonly longTexts: LongTexts;
  /** `entities` takes the backbone `english-mini-entities` rather than `english-mini`. Default: none of its own. */
  readonly backboneEnding?: string;
  /** Whether token types may tell the encoder which words had capitals, if its tokenizer folds case. */
  readonly marksCapitals: boolean;
  /** How its rows are read, checked and written, loaded on first use: a program that only predicts doesn't need it. */
  rows(): Promise<FamilyRows>;
  training(): Promise<FamilyTraining>;
}

export interface FamilyRows<Made extends Dataset = Dataset> {
  /** Reads an unpacked archive. @throws DatasetError with every problem; AbortedError soon after the signal fires */
  read(directory: string, type: ModelType, signal?: AbortSignal): Promise<Made>;
  /**
   * Checks rows, leaves out repeated ones, and sets some aside for dev unless dev rows are given.
   * @throws DatasetError with every problem; AbortedError soon after the signal fires
   */
  check(sets: RowSets, type: ModelType, signal?: AbortSignal): Promise<CheckedRowSets<Made>>;
  /** A dataset without rows: what its classes are called, or mean, is all to learn from. Absent: there is no such. @throws DatasetError */
  fromNames?(names: readonly string[], descriptions: Readonly<Record<string, string>>, type: ModelType): Made;
  /** The files of an archive, by their paths in its folder: text, or an object that becomes JSON. */
  write(dataset: Made, name: string): Readonly<Record<string, string | object>>;
}

/** What the figures of a task depend on. */
interface TaskOptions {
  /** The one of two labels whose F1 is reported. Default: of a binary model the second. */
  readonly positive?: string | undefined;
  /** Rules that the model will answer with. They change the figures of the blend, not what is learned. */
  readonly rules?: RuleSet | undefined;
}

/** How a family's datasets become tasks, and the trained encoders model folders. */
export interface FamilyTraining<Made extends Dataset = Dataset> {
  /**
   * @param head of the checkpoint that training starts from. It is continued if its labels are those of the dataset.
   */
  task(dataset: Made, head?: CheckpointHead, options?: TaskOptions): TrainingTask;
  /** Adds the operations from token ids to this model's outputs to a graph for inference. */
  exportedOutputs(graph: Graph, encoder: Encoder, inputs: EncoderInputs, config: ModelFolderConfig): ExportedOutput;
  /** The class of transformers that loads the folder, where that isn't the encoder's own for the pooling. */
  transformersClass?(config: ModelFolderConfig): TransformersClass | undefined;
  /** Extra files in the model folder for other libraries, by name. */
  companions?(encoder: Encoder, config: ModelFolderConfig): ReadonlyMap<string, Uint8Array>;
  /** Further tensors of model.safetensors, for other libraries, by name. */
  companionTensors?(encoder: Encoder, config: ModelFolderConfig): ReadonlyMap<string, NamedTensor>;
}

/** What a checkpoint of transformers answers with. */
export interface CheckpointHead {
  /** Whether texts have labels, as in `BertForSequenceClassification`, or tokens, as in `BertForTokenClassification`. */
  readonly per: 'text' | 'token';
  /** By id. */
  readonly labels: readonly string[];
  /** Its problem_type. */
  readonly problem: 'single_label_classification' | 'multi_label_classification' | 'regression' | undefined;
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

export interface CardFacts {
  /** What the model does, as words after "it": `gives a text one of two labels`. */
  readonly does: string;
  /** The Hub's name for the task, its pipeline_tag. */
  readonly pipeline: string;
  /** How other libraries run the encoder alone, in Markdown. */
  readonly usage: string;
}

export interface Duration {
  /** Training rows read over all epochs, as far as the two limits allow. */
  readonly rows: number;
  readonly minEpochs: number;
  readonly maxEpochs: number;
}

export interface ClassNames {
  readonly noun: string;
  readonly names: readonly string[];
}

/** What becomes of a text that is longer than the encoder reads: its end is cut off, or it is read in windows. */
type LongTexts = 'truncate' | 'windows';

interface ExportedOutput {
  readonly name: string;
  /** [batch, outputs], or [batch, tokens, outputs]. */
  readonly tensor: Tensor;
}

export interface Decoder {
  (text: string, outputs: TextOutputs): ModelResult;
  /**
   * The same in steps of some milliseconds each; the work of others, for the same model too, goes between them. Absent
   * where even the longest query is decoded quickly.
   */
  readonly inSteps?: (text: string, outputs: TextOutputs) => Generator<undefined, InferenceResult>;
  /** How its answers are explained. Absent: they can't be. */
  readonly explainer?: Explainer;
  /** Entities: how probable each BIO tag of each word, or of each piece that it labels, is. */
  readonly tagShares?: (text: string, outputs: TextOutputs) => readonly TagDoubt[];
}

export type ModelFiles = ReadonlyMap<string, ModelFile>;

export interface ModelFile {
  readonly bytes: Uint8Array;
  readonly file: string;
}

export interface TrainingTask<Head extends TrainingHead = TrainingHead> {
  readonly warnings: readonly DatasetWarning[];
  /** More of them where it is not learned as `fewRows`. Default: none. */
  readonly warningsOfEpochs?: readonly DatasetWarning[];
  /** Pairs of texts are joined, if `describe` says so. */
  readonly train: readonly string[];
  readonly dev: readonly string[];
  /** The numbers of examples, where not every text is one: in retrieval, texts are questions and passages. */
  readonly examples?: { readonly train: number; readonly dev: number };
  readonly mainMetric: TypeFacts['mainMetric'];
  /** The label that F1 is of, if it is of one. */
  readonly positive?: string | undefined;
  readonly head: Head;
  /** Whether the head is that of the checkpoint, which training goes on with. Default false. */
  readonly continuesHead?: boolean;
  /** A copy of the task with edited copies of training rows added; dev stays as it is. */
  augmented(options: AugmentOptions): TrainingTask<Head>;
  /** Measures the dev set. @param outputs of each dev text. @throws AbortedError soon after the signal fires. */
  evaluate(outputs: readonly TextOutputs[], signal?: AbortSignal): Scores | Promise<Scores>;
  /** Trains the lexical expert on the training rows. @throws AbortedError soon after the signal fires. */
  trainExpert(options: ExpertOptions): Promise<TrainedExpert>;
  /** Bytes of memory that training the lexical expert takes at most, roughly. Default 0. */
  expertBytes?(): number;
  /** How the task is learned from few rows over an encoder that stays as it is. Absent: by training the encoder only. */
  readonly fewRows?: FewRowsTask;
  /** The same with a backbone that stays as it is, if the rows are too few to train it; all of them judge it. */
  readonly untrained?: TrainingTask<Head>;
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

/** A task that a linear layer learns from the states of a frozen encoder. No dev rows are needed. */
export interface FewRowsTask {
  /** Whether its texts are pairs, of which a frozen encoder says too little: then it only checks labels. Default false. */
  readonly readsPairs?: boolean;
  /** What the head's last layer reads of a text, from what it reads of the text's windows: [width], or [words, width]. */
  readonly statesOf: (text: number, windows: TextOutputs) => Float32Array;
  /** The rows to train on, among them dev rows that were drawn; then the dev rows that were given; then names of classes. */
  readonly texts: readonly string[];
  /** How many of the texts are rows to train on. */
  readonly trainRows: number;
  /** How an encoder is trained on them, where that can pay. */
  readonly encoderTraining: {
    readonly epochs: number;
    /** `if better`: the encoder is kept if the judged rows are evidently more likely, by one standard error of the mean. */
    readonly isKept: 'if better' | 'always';
  };
  /**
   * How the rows are judged: on the dev rows that were given, else in stratified folds.
   * @param folds default: by the number of rows.
   */
  splits(seed: number, folds?: number): readonly FewRowsSplit[];
  /** The texts that a model learns from which is trained on these rows: they and the names. @returns their positions */
  examples(train: readonly number[]): readonly number[];
  /** The head with the loss of training on these texts. @param at their positions. */
  head(at: readonly number[]): RowHead;
  /**
   * Trains the layer and the lexical expert.
   * @param states those of all texts, of {@link statesOf}
   * @param judging the splits, each with these states; they differ where each split has an encoder of its own.
   * @throws AbortedError soon after the signal fires
   */
  learn(
    states: readonly Float32Array[],
    judging: readonly JudgedSplit[],
    options: FewRowsOptions,
  ): Promise<TrainedFewRows>;
  /**
   * Finds rows whose labels are probably wrong, by folds; trains no model that stays. Absent: nothing does that.
   * @param states as for `learn`; rows without one are left out
   * @throws AbortedError soon after the signal fires
   */
  checkLabels?(states: readonly (Float32Array | undefined)[], options: CheckLabelsOptions): Promise<CheckedLabels>;
}

export interface CheckLabelsOptions extends FewRowsOptions {
  /** How many times the rows are divided anew; the more, the better are they ordered. */
  readonly repeats: number;
}

export interface CheckedLabels {
  readonly noise: LabelNoise;
  /** One if labels are evidently wrong, else none. */
  readonly warnings: readonly DatasetWarning[];
}

/** How many labels are wrong, and which ones probably are. */
export interface LabelNoise {
  /** Number of rows whose labels were judged. */
  readonly judged: number;
  /** Share of given labels that are wrong, 0 to 0.5. */
  readonly share: number;
  /** Expected number of rows with a wrong label. */
  readonly wrong: number;
  /** Whether any labels are wrong, by a likelihood-ratio test at the level of 1 %. */
  readonly isEvident: boolean;
  /**
   * The rows for which other labels are more probable, the row with the least probable label first: self-confidence
   * (Kuan & Mueller 2022, "Model-agnostic label quality scoring to detect real-world label errors").
   */
  readonly doubtful: readonly DoubtfulLabels[];
}

export interface DoubtfulLabels {
  readonly text: string;
  /** Of a pair. */
  readonly text2?: string | undefined;
  /** Where it was read, counted from 1, if it is known. */
  readonly line?: number | undefined;
  readonly given: readonly string[];
  readonly suggested: readonly string[];
  /** Of what is given, 0 to 1; of several labels, of the least probable decision for or against one. */
  readonly probability: number;
  /** Of what is suggested. */
  readonly alternative: number;
}

/** Rows that are answered by a model which is trained on others; positions among the texts. */
export interface FewRowsSplit {
  readonly train: readonly number[];
  readonly judged: readonly number[];
}

export interface JudgedSplit extends FewRowsSplit {
  /** Those of all texts. */
  readonly states: readonly Float32Array[];
}

export interface FewRowsOptions extends ExpertOptions {
  readonly executor: GraphExecutor;
  /** Default: what suits the judged rows best. */
  readonly choices?: FewRowsChoices;
}

/** How the layer is trained, by the names that the model's record has. */
export interface FewRowsChoices {
  /** Inverse strength of the L2 penalty, as scikit-learn's C, for states of unit length. */
  readonly inverseRegularization: number;
  /** How many times each name of a class is among the examples. */
  readonly labelNames: number;
}

export interface TrainedFewRows {
  readonly finished: FinishedTask;
  /** The head's layer, trained on all rows. */
  readonly layer: LinearFit;
  /** Those that judged each split. */
  readonly splitLayers: readonly LinearFit[];
  /** Log-loss of each judged row in nats, by the blend. */
  readonly losses: Float64Array;
  /** Which rows figures are measured on. */
  readonly judged: Judgement;
  readonly choices: FewRowsChoices;
  /** About labels that are probably wrong. */
  readonly warnings: readonly DatasetWarning[];
}

/** Which rows figures are measured on. */
export interface Judgement {
  readonly rows: number;
  /** Of the training rows, each answered by a model that had not seen it. Absent: dev rows. */
  readonly folds?: number;
}

/** A trained lexical expert that isn't blended with the encoder yet. */
export interface TrainedExpert {
  /** @param outputs of the finished encoder for each dev text. @throws AbortedError soon after the signal fires */
  finish(outputs: readonly TextOutputs[], signal?: AbortSignal): FinishedTask | Promise<FinishedTask>;
}

export interface FinishedTask {
  readonly blend: Blend;
  /** Files that the decoder will need, by name. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** How the blend did on dev, for the report; absent where the scores say it all. */
  readonly evaluation?: ModelEvaluation;
  /** What its scores rest on, where they are held back by it. */
  readonly evidence?: Evidence;
  /** What models that had not learned from the judged texts answered. */
  readonly judgedTexts: readonly JudgedText[];
}

/** A text that is not learned from, and its answer. */
export interface JudgedText {
  readonly text: string;
  /** The labels given, or the types of the entities found, each once; empty for a question. */
  readonly labels: readonly string[];
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

/** The dev figures of one way to answer. */
export interface PartFigures extends Scores {
  /** How the outputs of encoder and expert are blended. A part that is not used has the weight 0. */
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

export interface TransformersClass {
  readonly architectures: string[];
  /** Classes that the folder has, by the class of transformers that looks them up: `file.Class`. */
  readonly auto_map: Readonly<Record<string, string>>;
}

export type TaskDescription = Pick<ModelFolderConfig, 'id2label' | 'label2id' | 'problem_type'> &
  Pick<ModelFolderConfig['orchard'], 'labels' | 'pooling' | 'words' | 'parts'>;
