import type { ResultAsync } from 'neverthrow';
import { callResult, type OrchardError } from '../contract/index.js';
import type { EntityRange, ReadingOptions, RowsOrPath, TagDoubt, TrainingRow } from '../datasets/index.js';
import type { TrainingEvent } from '../jobs/index.js';
import type { Answer, AnswerTo } from './answers.js';
import type { Model, TrainedModel } from './model.js';
import { withAbsolutePaths } from './paths.js';
import type { TrainOptions } from './train.js';

/** `distill`: trains a small model on the answers of a large one. */

/**
 * An entity of a teacher's answer: its offsets, or its words, or both. Entities without offsets are given in the order
 * of the text.
 */
export interface TaughtEntity extends Partial<Pick<EntityRange, 'start' | 'end'>> {
  readonly type: string;
  /** Its words, as in the text. Required without `start` and `end`. */
  readonly text?: string | undefined;
}

/** Entities, and the teacher's doubts about the tags of words, inside entities or not. */
export interface TaughtEntities {
  readonly entities: readonly TaughtEntity[];
  /** As in an `EntityRow`. Default: all tags are certain. */
  readonly doubts?: readonly TagDoubt[] | undefined;
}

/** A passage of a teacher's answer, and how well it answers the question: any finite number, the higher the better. */
export interface TaughtPassage {
  readonly passage: string;
  readonly score: number;
}

/**
 * A teacher's answer to one text. Classifiers: a label; the probability of each label; or, for a multilabel model, an array
 * of labels. Entities: an array of them, or an object with `entities` and `doubts`. Retrieval: a score for each candidate, or
 * passages with their scores. `null`: no answer.
 */
export type TeacherAnswer =
  | string
  | Readonly<Record<string, number>>
  | readonly string[]
  | readonly TaughtEntity[]
  | TaughtEntities
  | readonly number[]
  | readonly TaughtPassage[]
  | null;

/** What a teacher function gets in addition to the texts. */
export interface TeacherCall {
  /** Fires when `distill` is aborted or fails, or when the call takes longer than `callTimeoutMs`. */
  readonly signal: AbortSignal;
  /** Retrieval: for each text, which is a question, the passages to score. Empty for other models. */
  readonly candidates: readonly (readonly string[])[];
}

/**
 * Answers texts: one answer per text, in the order of the texts. If it throws or rejects, the call is repeated after a
 * pause.
 */
export type TeacherFunction = (
  texts: readonly string[],
  call: TeacherCall,
) => readonly TeacherAnswer[] | PromiseLike<readonly TeacherAnswer[]>;

/**
 * An open model, or what `loadModel` takes: a folder, a name, or `owner/name`. For retrieval, also an encoder that
 * `embed` takes or a cross-encoder that `scorePairs` takes.
 */
export type ModelTeacher = Model | string;

/** What answers the texts: a model, several models whose answers are averaged, or a function. */
export type Teacher = ModelTeacher | readonly ModelTeacher[] | TeacherFunction;

/** The progress of the teacher. */
export interface TeachingProgress {
  readonly type: 'teaching';
  /** Number of texts with an answer, including answers that were kept from an earlier call. */
  readonly answered: number;
  /** Total number of texts to answer. */
  readonly texts: number;
  /** Number of answers of this call to `distill` that can't be used. */
  readonly unusable: number;
  /** Number of calls that failed and were repeated. */
  readonly retries: number;
  /** Milliseconds since the first call. */
  readonly elapsedMs: number;
  /** Estimate of the milliseconds still needed. Absent before the first answer. */
  readonly remainingMs?: number;
}

/** What `onProgress` of {@link distill} is called with. */
export type DistillEvent = TeachingProgress | TrainingEvent;

/** Options of {@link distill}. Those of training are as in {@link TrainOptions}. */
export interface DistillOptions<Row extends TrainingRow = TrainingRow>
  extends ReadingOptions,
    Omit<
      TrainOptions<Row>,
      keyof ReadingOptions | 'rows' | 'path' | 'url' | 'dev' | 'devFraction' | 'labels' | 'onProgress'
    > {
  /**
   * What answers the texts. A model given by its name or folder runs on `device`, an open one where it was opened. For
   * retrieval, an open one also runs on `device`.
   */
  readonly teacher: Teacher;
  /**
   * The texts to learn from; for retrieval, the questions. An iterable, or the path of a file with one text per line or
   * with a column of texts (`text`, otherwise `sentence`, `content`, `review` or `utterance`) of a table, JSON or JSON
   * Lines. Blank texts are left out, and so are texts that differ from an earlier one only in case or spacing. At most
   * 1,000,000 texts of at most 100,000 UTF-16 code units each.
   */
  readonly texts: string | Iterable<string> | AsyncIterable<string>;
  /**
   * Labelled rows to learn from as well, or the path of their file. Without `test`, a tenth of them, at most 500,
   * is set aside for evaluation.
   */
  readonly rows?: RowsOrPath<Row> | undefined;
  /**
   * Labelled rows for choosing the best epoch, the thresholds and the blend, or the path of their file. The teacher is
   * not asked about their texts. Default: a tenth of the answers and a tenth of the `rows` to learn from, at most 1,000
   * of each, if at least 1,000 texts have an answer, or at least 20 and `temperature` is not 1; otherwise as in
   * {@link TrainOptions}.
   */
  readonly dev?: RowsOrPath<Row> | undefined;
  /**
   * Classifiers: the labels. Answers with other labels are not used. Default: the labels of the teacher or of `rows`;
   * without either, those of the answers.
   */
  readonly labels?: readonly string[] | undefined;
  /** Required for retrieval: the passages that questions are answered from. */
  readonly passages?: Iterable<string> | undefined;
  /** Maximum number of texts that the teacher answers, including those of the rows for evaluation. Default: all. */
  readonly maxTexts?: number | undefined;
  /**
   * How to choose texts if there are more than `maxTexts`. `random`: a random sample; with a larger `maxTexts`, it
   * contains the smaller sample. `central`: the texts nearest to the centres of groups of similar texts. Default
   * `random`.
   */
  readonly choose?: 'random' | 'central' | undefined;
  /**
   * Classifiers and entities: the temperature T that softens the teacher's probabilities p before the model learns them:
   * p^(1/T), normalized to a sum of 1 (Hinton et al. 2015). Above 0, at most 100. Default 1.
   */
  readonly temperature?: number | undefined;
  /**
   * The path of the JSON Lines file that keeps the answers, outside `output`. Default: `<output>.answers.jsonl`. A
   * function requires this or `output`. Without both, the answers of a model are not kept.
   */
  readonly answers?: string | undefined;
  /**
   * Functions: the name under which the answers are kept. With another name, all texts are asked again: change the name
   * when you change the prompt, for example. Default `function`.
   */
  readonly teacherName?: string | undefined;
  /** Maximum number of calls to the teacher at a time, 1 to 1,000. Default 4 for a function, 1 for models. */
  readonly concurrency?: number | undefined;
  /** Number of texts per call to the teacher, 1 to 10,000. Default 8 for a function, 64 for models. */
  readonly textsPerCall?: number | undefined;
  /** Functions: how many times a call is tried before the distillation fails, 1 to 100. Default 6. */
  readonly attempts?: number | undefined;
  /**
   * Functions: milliseconds before a failed call is repeated; doubled for each further repetition, plus up to half of
   * it at random, up to one minute. Default 1,000.
   */
  readonly retryDelayMs?: number | undefined;
  /** Functions: maximum duration of a call, in milliseconds. Default 600,000. */
  readonly callTimeoutMs?: number | undefined;
  /**
   * Whether to train also on an eighth, a quarter and half of the texts, to show whether more texts would help. Default
   * false.
   */
  readonly curve?: boolean | undefined;
  /** Called with each event. If it throws, the distillation stops and fails with what was thrown. */
  readonly onProgress?: ((event: DistillEvent) => void) | undefined;
}

/** A share of some texts or rows, 0 to 1, and its 95 % interval (Wilson 1927). */
export interface MeasuredShare {
  readonly share: number;
  readonly interval: { readonly low: number; readonly high: number };
  /** The number of texts, rows or entities that it is a share of. */
  readonly of: number;
}

/** How often student and teacher agree where the teacher gives this label, or finds an entity of this type. */
export interface LabelAgreement extends MeasuredShare {
  readonly label: string;
}

/** A text that student and teacher answer differently. */
export interface Difference {
  /** At most 300 characters. */
  readonly text: string;
  /** Its answer: labels, entities as `type: words`, or the best passage. */
  readonly teacher: readonly string[];
  readonly student: readonly string[];
  /**
   * How much they differ, 0 to 1. Labels: 1 minus the student's probability of the teacher's label; for multilabel
   * models, the largest of these numbers and of the student's probabilities of labels that only the student gives.
   * Entities: the share that only one of them found. Passages: 1 minus 1 / the student's rank of the teacher's best
   * passage.
   */
  readonly difference: number;
}

/** An answer that can't be used. The student did not learn from it. */
export interface UnusableAnswer {
  /** At most 300 characters. */
  readonly text: string;
  /** What is wrong with its answer. */
  readonly problem: string;
}

/** The size and speed of a teacher or student. */
export interface ModelCost {
  /** Size of the files that are needed to answer, in bytes. Absent for a function, and for a teacher of retrieval. */
  readonly bytes?: number;
  /**
   * For a model, the median over texts that are asked one at a time; for a function or a teacher of retrieval, the mean
   * over all calls.
   */
  readonly millisecondsPerText?: number;
}

/** How well the student reproduces its teacher. */
export interface DistillationSummary {
  /** The teacher's name, or names. */
  readonly teacher: string;
  /** Number of different texts that were given. */
  readonly texts: number;
  /** Number of texts that the teacher answered, including those of the rows for evaluation. */
  readonly answered: number;
  /** How many of these answers are from earlier calls. */
  readonly kept: number;
  /** Number of calls that failed and were repeated. */
  readonly retries: number;
  /**
   * Answers that can't be used: their number, and the first ten. The file of answers has all of them, each with its
   * reason.
   */
  readonly unusable: { readonly count: number; readonly examples: readonly UnusableAnswer[] };
  /** The path of the file of answers. Absent if they are not kept. */
  readonly answers?: string;
  /**
   * Numbers of texts and rows that the student learned from, including those set aside to choose its best epoch, but not
   * the rows of the option `dev`.
   */
  readonly learned: { readonly texts: number; readonly rows: number };
  /** The agreement on texts that the student did not learn from. Absent if too few of them have an answer. */
  readonly agreement?: MeasuredShare & { readonly labels: readonly LabelAgreement[] };
  /** The 20 of these texts on which student and teacher differ most, the largest difference first. */
  readonly differences: readonly Difference[];
  /** Measured on the rows of `test` or, without `test`, on those of `rows` that were set aside. Absent without rows. */
  readonly accuracy?: {
    readonly rows: number;
    /** The share of correct rows, the F1 of entities, or the share of questions with a correct passage first. */
    readonly metric: 'accuracy' | 'f1' | 'top1';
    readonly teacher: { readonly value: number; readonly interval: { readonly low: number; readonly high: number } };
    readonly student: { readonly value: number; readonly interval: { readonly low: number; readonly high: number } };
  };
  readonly cost: { readonly teacher: ModelCost; readonly student: ModelCost };
  /** With `curve`: the agreement after training on that many texts. */
  readonly curve?: readonly { readonly texts: number; readonly agreement: MeasuredShare }[];
}

/** The result of `distill`. */
export interface DistilledModel<Given extends Answer = Answer> extends TrainedModel<Given> {
  /** How well the model reproduces its teacher. It is also stored as `distillation.json` in the model's folder. */
  readonly distillation: DistillationSummary;
}

/**
 * Trains a model on a teacher's answers to unlabelled texts and returns it open, as `train` does. The model learns
 * probabilities where the teacher gives them (Hinton et al. 2015), and labels, entities or best passages where it
 * doesn't. A tenth of the answered texts, at most 1,000, is set aside to measure how well the model agrees with the
 * teacher.
 *
 * Answers are written to a file as they arrive. After a failure, an abort or a crash, the same call asks only for the
 * missing answers, and makes the same model as an uninterrupted call.
 *
 * Fails as `train` does, with a TeacherError if a function fails too often, with any error of a model's `predict`, and
 * with a ValidationError if the teacher and the rows don't fit together.
 */
export function distill<Row extends TrainingRow>(
  options: DistillOptions<Row>,
): ResultAsync<DistilledModel<AnswerTo<Row, string>>, OrchardError>;
export function distill(options: DistillOptions): ResultAsync<DistilledModel, OrchardError> {
  const given = withAbsolutePaths(options);
  const work = async () => (await import('./distilling/distill-model.js')).distillModel(given);
  return callResult(work(), 'distilling a model');
}
