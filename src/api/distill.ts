import type { ResultAsync } from 'neverthrow';
import { callResult, type OrchardError } from '../contract/index.js';
import type { EntityRange, ReadingOptions, RowsOrPath, TrainingRow } from '../datasets/index.js';
import type { TrainingEvent } from '../jobs/index.js';
import { modelAsOfNow } from '../models/index.js';
import type { Answer, AnswerTo } from './answers.js';
import type { Model, TrainedModel } from './model.js';
import { asOfNow, withAbsolutePaths } from './paths.js';
import type { TrainOptions } from './train.js';

/** `distill`: a small model learns to answer as a large one does. */

/** An entity of a teacher's answer: its place, or its words in the order in which the text has them, or both. */
export interface TaughtEntity extends Partial<Pick<EntityRange, 'start' | 'end'>> {
  readonly type: string;
  /** Its words, as in the text. Needed without `start` and `end`. */
  readonly text?: string | undefined;
}

/** A passage of a teacher's answer, and how well it answers the question: any finite number, the higher the better. */
export interface TaughtPassage {
  readonly passage: string;
  readonly score: number;
}

/**
 * A teacher's answer to one text. Classifiers: a label; the probability of each label; or, for a multilabel model, an array
 * of labels. Entities: an array of them. Retrieval: a score for each candidate, or passages with their scores. `null`: no
 * answer.
 */
export type TeacherAnswer =
  | string
  | Readonly<Record<string, number>>
  | readonly string[]
  | readonly TaughtEntity[]
  | readonly number[]
  | readonly TaughtPassage[]
  | null;

/** What a teacher's function gets besides texts. */
export interface TeacherCall {
  /** Fires when `distill` is aborted, or the call takes longer than `callTimeoutMs`. */
  readonly signal: AbortSignal;
  /** Retrieval: for each text, which is a question, the passages to score. Else empty. */
  readonly candidates: readonly (readonly string[])[];
}

/** Answers texts, in their order, one answer each. What it rejects with is tried again, after a pause. */
export type TeacherFunction = (
  texts: readonly string[],
  call: TeacherCall,
) => readonly TeacherAnswer[] | PromiseLike<readonly TeacherAnswer[]>;

/** An open model, or what `loadModel` takes: a folder, a name, or `owner/name`. */
export type ModelTeacher = Model | string;

/** Who answers: a model; several, whose answers are averaged; or a function. */
export type Teacher = ModelTeacher | readonly ModelTeacher[] | TeacherFunction;

/** How far the teacher is. */
export interface TeachingProgress {
  readonly type: 'teaching';
  /** Texts with an answer, among them those that were kept from an earlier call. */
  readonly answered: number;
  /** Texts to answer in all. */
  readonly texts: number;
  /** Answers that make no sense. */
  readonly unusable: number;
  /** Calls that failed and were made again. */
  readonly retries: number;
  /** Since the first text was asked. */
  readonly elapsedMs: number;
  /** Estimate of what the rest takes; absent before the first answer. */
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
  /** Who answers the texts. */
  readonly teacher: Teacher;
  /**
   * The texts to learn from, of retrieval the questions: in memory, as they come, or the path of a file with one per line, or
   * with the column `text` of a table or JSON Lines. Blank ones are left out, and so are those that differ from an earlier one
   * only in case or spacing. At most 1,000,000 of 100,000 UTF-16 code units.
   */
  readonly texts: string | Iterable<string> | AsyncIterable<string>;
  /** Labelled rows, or their file: they are learned from as they are. A tenth of them, at most 500, is for figures. */
  readonly rows?: RowsOrPath<Row> | undefined;
  /**
   * Classifiers: the labels. Answers with others make no sense. Default: those of the teacher, or of `rows`; without either,
   * those of the answers.
   */
  readonly labels?: readonly string[] | undefined;
  /** Retrieval, where it is required: the passages that questions are answered from. */
  readonly passages?: Iterable<string> | undefined;
  /** Most texts that the teacher is asked, with those of rows that are for figures. Default: all. */
  readonly maxTexts?: number | undefined;
  /**
   * Which texts, if there are more than `maxTexts`: a random sample, of which a larger one has all texts of a smaller one; or
   * `central`, those nearest to the centres of groups of similar texts. Default `random`.
   */
  readonly choose?: 'random' | 'central' | undefined;
  /**
   * Classifiers: what the teacher's probabilities are softened by before the model learns them: p^(1/T), brought to a sum of 1 (Hinton et
   * al. 2015). Above 0. Default 1.
   */
  readonly temperature?: number | undefined;
  /**
   * The JSON Lines file that keeps the answers. Default: `<output>.answers.jsonl`. A function needs this or `output`. Without
   * both, the answers of a model aren't kept.
   */
  readonly answers?: string | undefined;
  /**
   * Functions: what the answers are kept under. Another name asks again; change it with a prompt, for instance. Default
   * `function`.
   */
  readonly teacherName?: string | undefined;
  /** Calls of the teacher at the same time. Default 4 for a function, 1 for models. */
  readonly concurrency?: number | undefined;
  /** Texts in each call of the teacher. Default 8 for a function, 64 for models. */
  readonly textsPerCall?: number | undefined;
  /** How many times a call of a function is tried before the distillation fails. Default 6. */
  readonly attempts?: number | undefined;
  /** The pause before a function is called again; each further one is twice as long, at most a minute. Default 1,000. */
  readonly retryDelayMs?: number | undefined;
  /** The longest time that a call of a function may take. Default 600,000. */
  readonly callTimeoutMs?: number | undefined;
  /** Whether to train on an eighth, a quarter and half of the texts, too, which shows whether more would help. Default false. */
  readonly curve?: boolean | undefined;
  /** Called with each event. What it throws stops the distillation, and is its error. */
  readonly onProgress?: ((event: DistillEvent) => void) | undefined;
}

/** A share of some texts or rows, 0 to 1, and its 95 % interval (Wilson 1927). */
export interface MeasuredShare {
  readonly share: number;
  readonly interval: { readonly low: number; readonly high: number };
  /** What it is a share of: texts, rows, entities. */
  readonly of: number;
}

/** How often student and teacher agree where the teacher gives a label, or finds an entity of a type. */
export interface LabelAgreement extends MeasuredShare {
  readonly label: string;
}

/** A text that student and teacher answer differently. */
export interface Difference {
  /** At most 300 characters. */
  readonly text: string;
  /** Labels; entities as `type: words`; the best passage. */
  readonly teacher: readonly string[];
  readonly student: readonly string[];
  /** How much they differ, 0 to 1: 1 minus the student's probability of the teacher's answer, or the share of entities. */
  readonly difference: number;
}

/** An answer that makes no sense. It was not learned from. */
export interface UnusableAnswer {
  /** At most 300 characters. */
  readonly text: string;
  /** What is wrong with its answer. */
  readonly problem: string;
}

/** What a teacher or student takes. */
export interface ModelCost {
  /** Of the files that answers need. Absent for a function. */
  readonly bytes?: number;
  /** Of one text: of a model, the median of texts that are asked one by one; of a function, the mean of all calls. */
  readonly millisecondsPerText?: number;
}

/** How good a copy is. */
export interface DistillationSummary {
  /** The teacher's name, or names. */
  readonly teacher: string;
  /** Different texts that were given. */
  readonly texts: number;
  /** Texts that the teacher answered, among them those of rows that are for figures. */
  readonly answered: number;
  /** How many of these answers were kept from earlier calls. */
  readonly kept: number;
  /** Calls that failed and were made again. */
  readonly retries: number;
  /** Answers that make no sense: how many, and the first ten. The file of the answers has all, each with its reason. */
  readonly unusable: { readonly count: number; readonly examples: readonly UnusableAnswer[] };
  /** Where the answers are kept. Absent if they aren't. */
  readonly answers?: string;
  /** Texts, and rows, that the student learned from, those included that chose its best epoch. */
  readonly learned: { readonly texts: number; readonly rows: number };
  /** On texts that the student did not learn from. Absent if too few have an answer. */
  readonly agreement?: MeasuredShare & { readonly labels: readonly LabelAgreement[] };
  /** The 20 texts among these on which they differ most, the most different first. */
  readonly differences: readonly Difference[];
  /** On the rows of `test`, or those of `rows` that were set aside. Absent without rows. */
  readonly accuracy?: {
    readonly rows: number;
    /** Share of right rows; F1 of entities; share of questions with a right passage first. */
    readonly metric: 'accuracy' | 'f1' | 'top1';
    readonly teacher: { readonly value: number; readonly interval: { readonly low: number; readonly high: number } };
    readonly student: { readonly value: number; readonly interval: { readonly low: number; readonly high: number } };
  };
  readonly cost: { readonly teacher: ModelCost; readonly student: ModelCost };
  /** With `curve`: the agreement after training on so many texts. */
  readonly curve?: readonly { readonly texts: number; readonly agreement: MeasuredShare }[];
}

/** The result of `distill`. */
export interface DistilledModel<Given extends Answer = Answer> extends TrainedModel<Given> {
  /** How well it answers as its teacher does. Its folder has it as `distillation.json`. */
  readonly distillation: DistillationSummary;
}

/**
 * Trains a model on a teacher's answers to unlabelled texts, so that it answers as the teacher does, and gives it open, as
 * `train` does. The model learns probabilities where the teacher gives them (Hinton et al. 2015), and labels, entities or best
 * passages where it doesn't. A tenth of the answered texts, at most 1,000, measures how well it agrees.
 *
 * Answers are written to a file as they come, and read from it by the next call: after a failure, an abort or a kill, the same
 * call asks only for what is left, and makes the same model as without it.
 *
 * Fails as `train` does, with a TeacherError if a function fails too often, with any error of a model's `predict`, and with a
 * ValidationError if the teacher and the rows don't fit.
 */
export function distill<Row extends TrainingRow>(
  options: DistillOptions<Row>,
): ResultAsync<DistilledModel<AnswerTo<Row, string>>, OrchardError>;
export function distill(options: DistillOptions): ResultAsync<DistilledModel, OrchardError> {
  const { texts, rows, answers, teacher } = options ?? {};
  const placed = <Given>(each: Given) => (typeof each === 'string' ? modelAsOfNow(each) : each);
  const given = {
    ...withAbsolutePaths(options),
    teacher: Array.isArray(teacher) ? teacher.map(placed) : placed(teacher),
    texts: asOfNow(texts),
    rows: asOfNow(rows),
    ...(answers !== undefined && { answers: asOfNow(answers) }),
  };
  const work = async () => (await import('./distilling/distill-model.js')).distillModel(given);
  return callResult(work(), 'distilling a model');
}
