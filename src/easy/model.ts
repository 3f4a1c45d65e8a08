import type { Result, ResultAsync } from 'neverthrow';
import type { AnswerView, FamilyName, ModelType } from '../contract/index.js';
import type { OrchardError } from '../errors.js';
import type { CallOptions, ExplainOptions, Queries, StreamOptions } from '../inference/index.js';
import type { Answer, AnswerExplanation } from './answers.js';
import type { EvaluateOptions, Evaluation } from './evaluate.js';
import type { RowsOrPath } from './rows/index.js';
import type { TrainingSummary } from './training/training-summary.js';
import type { TuningSummary } from './tune.js';

/**
 * A model that is open: it runs in worker threads and keeps what it has loaded until `close`. Any number of calls may
 * be made at once. All fail with an OverloadedError while too many texts wait, a MemoryLimitError where the model takes
 * more memory than it may, an AbortedError when the signal fires, a DeadlineError and, after `close`, a ClosedError.
 */
export interface Model<Given extends Answer = Answer> extends AsyncDisposable {
  /** As it was loaded or trained. */
  readonly name: string;
  readonly type: ModelType;
  readonly family: FamilyName;
  /** The kind of its answers. */
  readonly kind: AnswerView;
  /** The labels, or the types of entities; none for passages. */
  readonly labels: readonly string[];
  /** Its folder. Of a model that was trained without `output`, `close` removes it. */
  readonly directory: string;
  /** The answer to a text of at most 100,000 UTF-16 code units. */
  predict(text: string, options?: CallOptions): ResultAsync<Given, OrchardError>;
  /** The answers to any number of texts, in their order. Fails with the first failure. */
  predict(texts: readonly string[], options?: StreamOptions): ResultAsync<readonly Given[], OrchardError>;
  /**
   * The answers to texts as they come, in their order and in flat memory: texts are read only as fast as answers are. A
   * text that fails has its error in its place; what would fail every text ends the stream with that error.
   * @throws (from the loop) what the texts' own iterator throws
   */
  predict(
    texts: Queries,
    options?: StreamOptions,
  ): AsyncGenerator<Result<Given, OrchardError>, void, undefined>;
  /**
   * The answer to a text, and which of its words moved it: exactly for the lexical expert, by leaving words out for the
   * encoder, which takes as long as some dozen answers. Fails with a ValidationError for a `label` that the model lacks.
   */
  explain(text: string, options?: ExplainOptions): ResultAsync<AnswerExplanation<Given>, OrchardError>;
  /**
   * How well it does on examples: in memory, or in a CSV, TSV, JSON Lines or CoNLL file. Fails with a ValidationError or
   * DatasetError that names the rows or lines that don't fit.
   */
  evaluate(rows: RowsOrPath, options?: EvaluateOptions): ResultAsync<Evaluation, OrchardError>;
  /**
   * Writes the model to a folder that needs nothing else. It must not exist, be empty, or hold a model, which is replaced.
   * Fails with a ValidationError for any other folder, or a StorageError.
   */
  save(folder: string): ResultAsync<void, OrchardError>;
  /** The model's card, in Markdown. Fails with a ModelFolderError where the folder has none. */
  card(): ResultAsync<string, OrchardError>;
  /** An HTML page about its training. Fails with a ModelFolderError where the folder doesn't tell of it. */
  report(): ResultAsync<string, OrchardError>;
  /** Answers what waits, 10 s at most, and frees everything. Idempotent. */
  close(): Promise<void>;
}

/** A model that `train` has made. */
export interface TrainedModel<Given extends Answer = Answer> extends Model<Given> {
  /** How it was trained, and how good it is. */
  readonly training: TrainingSummary;
}

/** The best model that `tune` has found. */
export interface TunedModel<Given extends Answer = Answer> extends TrainedModel<Given> {
  /** What was tried, and which trial this model is of. */
  readonly tuning: TuningSummary;
}
