import type { Result, ResultAsync } from 'neverthrow';
import type { AnswerView, FamilyName, ModelType, OrchardError, Topk } from '../contract/index.js';
import type { DatasetWarning, Rows, RowsOrPath, TrainingRow } from '../datasets/index.js';
import type { Baseline, Drift } from '../drift/index.js';
import type { CallOptions, ExplainOptions, Queries, StreamOptions } from '../inference/index.js';
import type { ClassFigures, RecordedPart, Rule } from '../models/index.js';
import type { Answer, AnswerExplanation, AnswerTo } from './answers.js';
import type { BaselineOptions, DriftOptions } from './drift.js';
import type { EvaluateOptions, Evaluation, EvaluationOf } from './evaluate.js';
import type { RedactedText, Replacements } from './redact.js';
import type { TrainOptions } from './train.js';
import type { TuningSummary } from './tune.js';

/** The figures of the encoder and the lexical expert, each alone and both together. */
export interface SummaryParts {
  readonly encoder: RecordedPart;
  readonly expert: RecordedPart;
  readonly blend: RecordedPart;
}

/** How a model was trained, and its figures. */
export interface TrainingSummary {
  readonly type: ModelType;
  /** Whether the type was given, or inferred from the data. */
  readonly typeIs: 'given' | 'inferred';
  /** Why the type was chosen, in words. */
  readonly reason: string;
  /** What a file of rows was read as, in words: `CSV: 240 texts, 3 labels`. Absent for rows in memory and archives. */
  readonly readAs?: string;
  /** Number of rows that the model learned from. */
  readonly train: number;
  /**
   * Number of rows that were set aside, or given as `dev`, to choose the best epoch. 0 if the model learned from all
   * rows.
   */
  readonly dev: number;
  /**
   * `frozen-encoder`: a linear layer and the lexical expert were trained on few rows; the encoder was not. For few
   * questions, only the weights of vectors and BM25 were fitted. `fine-tuning`: the encoder was trained, too.
   * `label-names`: there were no rows, only the names of the labels or what they mean.
   */
  readonly method: 'label-names' | 'frozen-encoder' | 'fine-tuning';
  /** Number of rows that the figures below are measured on: dev rows or, if there are `folds`, training rows. */
  readonly judgedRows: number;
  /**
   * Number of folds of the training rows, each answered by a model that was trained on the others; 1 if only one fold
   * was answered. For fewer than 200 questions, on which no vectors were trained, their number. Absent if the figures
   * are measured on dev rows.
   */
  readonly folds?: number;
  /** Classification: the share of the judged rows that are answered correctly, 0 to 1. */
  readonly accuracy?: number;
  /** The 95 % interval of `accuracy`, by the number of judged rows (Wilson 1927). */
  readonly interval?: { readonly low: number; readonly high: number };
  /**
   * The F1 on the judged rows, 0 to 1. Classification: of the label `positive` or, without it, the mean over labels.
   * Entities: over all entities.
   */
  readonly f1?: number;
  /**
   * Classifiers with two labels: the label that each F1 in `f1` and `parts` describes; see `positive` of {@link
   * TrainOptions}.
   */
  readonly positive?: string;
  /** Classification and entities: the mean of the F1 of each label, or entity type, in the judged rows or the answers. */
  readonly macroF1?: number;
  /** Classification and entities: the figures of each label, or entity type, on the judged rows. */
  readonly classes?: readonly ClassFigures[];
  /** Questions: the share of the judged questions whose passage is among the first 1, 3, 5, 10, 20 and 100. */
  readonly topk?: Topk;
  /** The figures of the encoder and the lexical expert, each alone and both together. */
  readonly parts?: SummaryParts;
  /** Warnings about the data or the training. */
  readonly warnings: readonly DatasetWarning[];
  /** Duration of the training, in seconds. */
  readonly seconds: number;
  /** The evaluation on the rows that were given as `test`. */
  readonly test?: Evaluation;
}

/** The two texts that a model of pairs reads together. */
export interface TextPair {
  readonly text: string;
  readonly text2: string;
}

/** What a model answers: a text or, if the model was trained on rows with `text2`, a pair of texts. */
export type ModelText = string | TextPair;

/** Any number of texts or pairs: an array, a generator, the lines of a file and so on. */
export type ModelTexts = Iterable<ModelText> | AsyncIterable<ModelText>;

/**
 * An open model. It runs in worker threads, except for single short texts (see the option `isolation`), and stays in
 * memory until `close`. Concurrent calls are allowed. All calls fail with an OverloadedError while too many texts are
 * waiting, a MemoryLimitError if the model exceeds the memory limit, an AbortedError when the signal fires, a
 * DeadlineError after the deadline and a ClosedError after `close`.
 */
export interface Model<Given extends Answer = Answer> extends AsyncDisposable {
  /** The name that it was loaded or trained with. */
  readonly name: string;
  readonly type: ModelType;
  readonly family: FamilyName;
  /** The kind of its answers. */
  readonly kind: AnswerView;
  /** The labels, or the entity types with those of its rules; empty for a model that ranks passages. */
  readonly labels: readonly string[];
  /** Whether the model reads pairs of texts, `{ text, text2 }`, instead of single texts. */
  readonly readsPairs: boolean;
  /** Its rules: those that it was loaded with, then those of its folder. An earlier rule takes precedence. */
  readonly rules: readonly Rule[];
  /** What computes its encoder: ONNX Runtime or WebAssembly, as the option `runtime` of `loadModel` says. */
  readonly runtime: 'onnx' | 'wasm';
  /** Its folder. If the model was trained without `output`, `close` removes the folder. */
  readonly directory: string;
  /**
   * Answers one text, or one pair, each text of at most 100,000 UTF-16 code units. Fails with a ValidationError for a
   * blank text, for a single text if the model reads pairs, and for a pair if it doesn't.
   */
  predict(text: ModelText, options?: CallOptions): ResultAsync<Given, OrchardError>;
  /** Answers any number of texts, in their order. Fails if one of them fails. */
  predict(texts: readonly ModelText[], options?: StreamOptions): ResultAsync<readonly Given[], OrchardError>;
  /**
   * Answers a stream of texts, in their order and in constant memory: texts are read only as fast as the answers. A text
   * that fails yields its error. An error that every text would have ends the stream.
   * @throws (from the loop) any error of the texts' iterator
   */
  predict(texts: ModelTexts, options?: StreamOptions): AsyncGenerator<Result<Given, OrchardError>, void, undefined>;
  /**
   * Answers a text and shows how much each of its words influenced the answer. The lexical expert's part is exact; the
   * encoder's part is measured by leaving words out, which takes about as long as one answer per word, and at most as
   * long as 128 answers. The text has at most 10,000 UTF-16 code units. Fails with a ValidationError for a longer text,
   * an unknown `label`, and for a model that reads pairs.
   */
  explain(text: string, options?: ExplainOptions): ResultAsync<AnswerExplanation<Given>, OrchardError>;
  /**
   * Entity models: replaces the entities of a text, for example to remove names. Fails as `predict` does, and with a
   * ValidationError for a type that the model doesn't have, and for models of another kind.
   * @param replacements what to replace, and by what. Default: every entity, by its type in brackets.
   */
  redact(text: string, replacements?: Replacements, options?: CallOptions): ResultAsync<RedactedText, OrchardError>;
  /** The same for any number of texts, in their order. Fails if one of them fails. */
  redact(
    texts: readonly string[],
    replacements?: Replacements,
    options?: StreamOptions,
  ): ResultAsync<readonly RedactedText[], OrchardError>;
  /** The same for a stream of texts. A text that fails yields its error. */
  redact(
    texts: Queries,
    replacements?: Replacements,
    options?: StreamOptions,
  ): AsyncGenerator<Result<RedactedText, OrchardError>, void, undefined>;
  /**
   * Evaluates the model on labelled rows: in memory, or in a file (docs/files.md). Fails with a ValidationError or
   * DatasetError that names the invalid rows or lines.
   */
  evaluate(rows: RowsOrPath, options?: EvaluateOptions): ResultAsync<EvaluationOf<Given>, OrchardError>;
  /**
   * Returns a baseline, which describes the texts that are usual for the model: the one that `train` stored in the
   * model's folder or, with `texts`, a new one of these texts. It is plain JSON and contains no text. Fails with a
   * ModelFolderError if the folder has none.
   */
  baseline(options?: BaselineOptions): ResultAsync<Baseline, OrchardError>;
  /**
   * Tests whether texts are like those of the baseline: by the share of known n-grams, text length, the shares of
   * answers and the vectors of the texts. Compares at most 5,000 texts, drawn at random if there are more; with fewer
   * than 20, nothing is tested. Fails with a ValidationError for a blank text or a baseline of another model, and a
   * ModelFolderError if the folder has no baseline and none is given.
   * @param texts at most 100,000 UTF-16 code units each
   */
  drift(texts: readonly string[], options?: DriftOptions): ResultAsync<Drift, OrchardError>;
  /**
   * Writes the model, as it was loaded, with its rules to a self-contained folder. The folder must be missing or empty, or hold a model, which
   * is replaced. Fails with a ValidationError for any other folder, a StorageError, or a ModelFolderError if files of the model
   * were overwritten in place.
   */
  save(folder: string): ResultAsync<void, OrchardError>;
  /** Returns the model card in Markdown. Fails with a ModelFolderError if the folder has none. */
  card(): ResultAsync<string, OrchardError>;
  /** Returns an HTML page about the training. Fails with a ModelFolderError if the folder has no record of it. */
  report(): ResultAsync<string, OrchardError>;
  /**
   * Waits up to 10 s for open calls, then frees all resources. Other models that were loaded from the same folder stay
   * open. Idempotent.
   */
  close(): Promise<void>;
}

/** The result of `train`. */
export interface TrainedModel<Given extends Answer = Answer> extends Model<Given> {
  /** How the model was trained, and its figures. */
  readonly training: TrainingSummary;
  /**
   * Trains a new model on the rows of this one and on further rows, with the same options. The result is the same as
   * that of `train` with all rows. It takes about a second if the rows are few and the encoder stays frozen. This
   * model stays open. The rows are kept in this object, never in the model's folder, so a loaded model has no `learn`.
   * Fails as `train` does, and with a ValidationError if the model was trained on an archive.
   */
  learn<Row extends TrainingRow>(
    rows: Rows<Row>,
    options?: LearnOptions,
  ): ResultAsync<TrainedModel<Given | AnswerTo<Row>>, OrchardError>;
}

/** Options that may differ from those of the earlier training run. */
export type LearnOptions = Pick<TrainOptions, 'output' | 'onProgress' | 'signal' | 'effort' | 'test'>;

/** The result of `tune`: the best model of the search. */
export interface TunedModel<Given extends Answer = Answer> extends Omit<TrainedModel<Given>, 'learn'> {
  /** All trials, and which of them made this model. */
  readonly tuning: TuningSummary;
}
