import type { AnswerView, ModelType, PretrainedModelName } from '../contract/index.js';
import type {
  EntityRow,
  LabelledRow,
  MultilabelRow,
  QuestionPassageRow,
  QuestionPassagesRow,
  SoftLabelRow,
  TaggedRow,
  TrainingRow,
} from '../datasets/index.js';
import { type ExplainedAnswer, familyOfModel, type JudgedResult } from '../families/index.js';
import type { ModelFolderConfig, RuleName } from '../models/index.js';

/** The answers of models; `kind` tells them apart. */

/** A label and its probability, 0 to 1. */
export interface ScoredLabel<Label extends string = string> {
  readonly label: Label;
  readonly score: number;
  /**
   * The rule that decided it: its name or, if it has none, its index in the model's `rules`. Absent if the model
   * decided.
   */
  readonly rule?: RuleName;
}

/** What every answer says about its text. */
export interface ReadText {
  /** True if the text is longer than the encoder reads, so that it has read only the beginning. Absent otherwise. */
  readonly truncated?: true;
}

/** A classifier's answer. */
export interface LabelAnswer<Label extends string = string> extends ReadText {
  readonly kind: 'labels';
  /** The most probable label. */
  readonly label: Label;
  /** Its probability, 0 to 1. */
  readonly score: number;
  /**
   * The rule that gave it: its name or, if it has none, its index in the model's `rules`. Absent if the model gave it.
   */
  readonly rule?: RuleName;
  /** The labels that apply: the most probable one or, for a multilabel model, all above one half, highest first. */
  readonly labels: readonly Label[];
  /** All labels, highest first. */
  readonly scores: readonly ScoredLabel<Label>[];
  /** True if the scores are so low that perhaps none of the model's labels fits. Only with the option `noneOfThese`. */
  readonly noneOfThese?: boolean;
}

/** An entity and its place in the text: `text.slice(start, end) === entity.text`. */
export interface FoundEntity {
  readonly type: string;
  /** Its words, as in the text. */
  readonly text: string;
  /** Offset of its first UTF-16 code unit. */
  readonly start: number;
  /** Offset after its last UTF-16 code unit. */
  readonly end: number;
  /** Its probability, 0 to 1; 1 if a rule found it. */
  readonly score: number;
  /**
   * The rule that found it: its name or, if it has none, its index in the model's `rules`. Absent if the model found
   * it.
   */
  readonly rule?: RuleName;
}

/** The entities that a model found, from left to right. */
export interface EntityAnswer extends ReadText {
  readonly kind: 'entities';
  readonly entities: readonly FoundEntity[];
}

/**
 * A passage, and the probability that it answers the question, assuming that one of the model's passages does; 0 to 1.
 */
export interface ScoredPassage {
  readonly text: string;
  readonly score: number;
}

/** Up to ten passages that best answer a question, best first. */
export interface PassageAnswer extends ReadText {
  readonly kind: 'passages';
  readonly passages: readonly ScoredPassage[];
}

/** The answer of a model; `kind` says which of the three it is. */
export type Answer = LabelAnswer | EntityAnswer | PassageAnswer;

/** An answer, and the words that influenced it. */
export interface AnswerExplanation<Given extends Answer = Answer> {
  /** The answer, as `predict` returns it. */
  readonly answer: Given;
  /**
   * Classification: the most probable label, or the one that was asked for. Entities: each entity. Passages: each of
   * the best ones. Words with a weight above 0 count towards the answer, those with a weight below 0 against it.
   */
  readonly explained: readonly ExplainedAnswer[];
}

/** The labels of such rows: the names themselves if the rows are `as const`, else `string`. */
export type LabelIn<Row extends TrainingRow> = Row extends LabelledRow
  ? Row['label']
  : Row extends MultilabelRow
    ? Row['labels'][number]
    : Row extends SoftLabelRow
      ? Extract<keyof Row['labels'], string>
      : never;

/** The type of the answers of a model that was trained on rows of this type, with these labels. */
export type AnswerTo<Row extends TrainingRow, Label extends string = LabelIn<Row>> =
  | (Row extends LabelledRow | MultilabelRow | SoftLabelRow ? LabelAnswer<Label> : never)
  | (Row extends TaggedRow | EntityRow ? EntityAnswer : never)
  | (Row extends QuestionPassageRow | QuestionPassagesRow ? PassageAnswer : never);

/** The type of the answers of a model of this type. */
export type AnswerToType<Type extends ModelType> = Type extends 'named-entity-recognition' | 'sequence-labeling'
  ? EntityAnswer
  : Type extends 'question-answering'
    ? PassageAnswer
    : LabelAnswer;

/** The type of the answers of a model with this name. For models of the catalogue, it is known before loading. */
export type AnswerOf<Name extends string> = Name extends 'named-entity-recognition'
  ? EntityAnswer
  : Name extends 'research-papers-search'
    ? PassageAnswer
    : Name extends PretrainedModelName
      ? LabelAnswer
      : Answer;

/** A label of a multilabel model applies above this score (docs/service.md, "Result"). */
const THRESHOLD = 0.5;

export interface AnswerReading {
  readonly view: AnswerView;
  readonly isMultilabel: boolean;
}

/** @param file named in errors. @throws ModelFolderError */
export function answerReading(config: ModelFolderConfig, file: string): AnswerReading {
  const isBinary = config.orchard.labels.length === 2 && Object.keys(config.id2label).length === 1;
  const isMultilabel = config.problem_type === 'multi_label_classification' && !isBinary;
  return { view: familyOfModel(config, file).answerView, isMultilabel };
}

/** The labels that an answer gives, or the types of the entities that it finds, each once. */
export function labelsOf(answer: Answer): readonly string[] {
  if (answer.kind === 'labels') return answer.labels;
  return answer.kind === 'entities' ? [...new Set(answer.entities.map(({ type }) => type))] : [];
}

/** @param isTruncated whether only the beginning of the text was read */
export function toAnswer(result: JudgedResult, reading: AnswerReading, isTruncated = false): Answer {
  const answer = answerOf(result, reading);
  return isTruncated ? { ...answer, truncated: true } : answer;
}

function answerOf(result: JudgedResult, { view, isMultilabel }: AnswerReading): Answer {
  const { labels, scores, rules, none_of_these } = result;
  if (view === 'entities') return { kind: 'entities', entities: entitiesOf(result) };
  if (view === 'passages') {
    return { kind: 'passages', passages: labels.map((text, at) => ({ text, score: scores[at] ?? 0 })) };
  }
  const all: ScoredLabel[] = [];
  const applying: string[] = [];
  for (const [at, label] of labels.entries()) {
    const score = scores[at] ?? 0;
    all.push({ label, score, ...ruleAt(rules, at) });
    if (isMultilabel ? score > THRESHOLD : at === 0) applying.push(label);
  }
  const [first = { label: '', score: 0 }] = all;
  const noneOfThese = none_of_these === undefined ? undefined : { noneOfThese: none_of_these };
  return { kind: 'labels', ...first, labels: applying, scores: all, ...noneOfThese };
}

function ruleAt(rules: JudgedResult['rules'], at: number): { readonly rule?: RuleName } {
  const rule = rules?.[at] ?? undefined;
  return rule === undefined ? {} : { rule };
}

function entitiesOf({ labels, scores, rules, tokens = [], token_start_positions = [] }: JudgedResult): FoundEntity[] {
  return labels.map((type, at) => {
    const text = tokens[at] ?? '';
    const start = token_start_positions[at] ?? 0;
    return { type, text, start, end: start + text.length, score: scores[at] ?? 0, ...ruleAt(rules, at) };
  });
}
