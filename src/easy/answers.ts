/** What models answer, as objects of their kind. */
import type { AnswerView, InferenceResult, PretrainedModelName } from '../contract/index.js';
import type {
  EntityRow,
  LabelledRow,
  MultilabelRow,
  QuestionPassageRow,
  QuestionPassagesRow,
  TaggedRow,
  TrainingRow,
} from './rows/index.js';

/** A label and how probable it is, 0 to 1. */
export interface ScoredLabel {
  readonly label: string;
  readonly score: number;
}

/** A classifier's answer. */
export interface LabelAnswer {
  readonly kind: 'labels';
  /** The most probable label. */
  readonly label: string;
  /** How probable that is, 0 to 1. */
  readonly score: number;
  /** Those that apply: the most probable one or, of a multilabel model, all above one half, highest first. */
  readonly labels: readonly string[];
  /** All labels, highest first. */
  readonly scores: readonly ScoredLabel[];
}

/** An entity and where it stands: `text.slice(start, end) === entity.text`. */
export interface FoundEntity {
  readonly type: string;
  /** As it stands in the text. */
  readonly text: string;
  /** UTF-16 code units into the text. */
  readonly start: number;
  /** After its last UTF-16 code unit. */
  readonly end: number;
  /** How probable it is, 0 to 1. */
  readonly score: number;
}

/** What a model of entities found, left to right. */
export interface EntityAnswer {
  readonly kind: 'entities';
  readonly entities: readonly FoundEntity[];
}

/** A passage, and how probable it is that it answers, if one of the model's passages does; 0 to 1. */
export interface ScoredPassage {
  readonly text: string;
  readonly score: number;
}

/** The ten passages that answer a question best, best first. */
export interface PassageAnswer {
  readonly kind: 'passages';
  readonly passages: readonly ScoredPassage[];
}

/** What a model answers; `kind` says which. */
export type Answer = LabelAnswer | EntityAnswer | PassageAnswer;

/** The answers of a model that was trained on such rows. */
export type AnswerTo<Row extends TrainingRow> = Row extends LabelledRow | MultilabelRow
  ? LabelAnswer
  : Row extends TaggedRow | EntityRow
    ? EntityAnswer
    : Row extends QuestionPassageRow | QuestionPassagesRow
      ? PassageAnswer
      : never;

/** The answers of a model of this name: those of the catalogue are known before it is loaded. */
export type AnswerOf<Name extends string> = Name extends 'named-entity-recognition'
  ? EntityAnswer
  : Name extends 'research-papers-search'
    ? PassageAnswer
    : Name extends PretrainedModelName
      ? LabelAnswer
      : Answer;

/** A multilabel model says yes above this (docs/service.md, "Result"). */
const YES = 0.5;

/** How a model's results are read. */
export interface AnswerReading {
  readonly view: AnswerView;
  readonly isMultilabel: boolean;
}

/** A documented result as an answer. */
export function toAnswer(result: InferenceResult, { view, isMultilabel }: AnswerReading): Answer {
  if (view === 'entities') return { kind: 'entities', entities: entitiesOf(result) };
  const { labels, scores } = result;
  const scoreAt = (at: number) => scores[at] ?? 0;
  if (view === 'passages') {
    return { kind: 'passages', passages: labels.map((text, at) => ({ text, score: scoreAt(at) })) };
  }
  const all = labels.map((label, at) => ({ label, score: scoreAt(at) }));
  const applying = isMultilabel ? all.filter(({ score }) => score > YES) : all.slice(0, 1);
  return {
    kind: 'labels',
    label: labels[0] ?? '',
    score: scoreAt(0),
    labels: applying.map(({ label }) => label),
    scores: all,
  };
}

function entitiesOf({
  labels,
  scores,
  tokens = [],
  token_start_positions = [],
}: InferenceResult): FoundEntity[] {
  return labels.map((type, at) => {
    const text = tokens[at] ?? '';
    const start = token_start_positions[at] ?? 0;
    return { type, text, start, end: start + text.length, score: scores[at] ?? 0 };
  });
}
