/** Rows as questions to a model with their right answers. */
import type { Model } from '../model.js';
import { MULTILABEL } from '../multilabel.js';
import { type CheckedRows, fieldsOf, invalid, sentenceWithEntities } from '../rows/index.js';

/** What has to be known of a model that is judged. */
export type JudgedModel = Pick<Model, 'kind' | 'type' | 'name' | 'labels'>;

/** A text to ask about, and what is right. */
export interface Example {
  readonly text: string;
  readonly labels: readonly string[];
  readonly entities: readonly { readonly start: number; readonly end: number; readonly type: string }[];
  readonly passages: readonly string[];
}

const blank = { labels: [], entities: [], passages: [] };

/** What the rows ask, and what is right. @throws ValidationError for rows of another kind than the model's. */
export function examplesFor(model: JudgedModel, checked: CheckedRows, origin: string): readonly Example[] {
  const { kind } = model;
  if (kind === 'labels') {
    if (checked.shape === 'label')
      return checked.rows.map(({ text, label }) => ({ ...blank, text, labels: [label] }));
    if (checked.shape === 'labels' && model.type === MULTILABEL)
      return checked.rows.map((row) => ({ ...blank, ...row }));
  }
  if (kind === 'entities') {
    if (checked.shape === 'entities') return checked.rows.map((row) => ({ ...blank, ...row }));
    if (checked.shape === 'tags')
      return checked.rows.map((row) => ({ ...blank, ...sentenceWithEntities(row) }));
  }
  if (kind === 'passages') {
    if (checked.shape === 'passage')
      return byQuestion(checked.rows.map(({ question, passage }) => ({ question, passages: [passage] })));
    if (checked.shape === 'passages') return byQuestion(checked.rows);
  }
  const fitting = {
    labels: labelFields(model),
    entities: 'tokens and tags, or text and entities',
    passages: 'question and passage',
  };
  throw invalid(
    ['rows'],
    `${origin} has rows of ${fieldsOf(checked.shape)}, but ${model.name} (${model.type}) is judged by rows of ${fitting[kind]}`,
  );
}

function labelFields({ type }: JudgedModel): string {
  return type === MULTILABEL ? 'text and labels' : 'text and label';
}

/** A question that is there several times is asked once; all its passages answer it. */
function byQuestion(
  rows: readonly { readonly question: string; readonly passages: readonly string[] }[],
): Example[] {
  const passages = new Map<string, string[]>();
  for (const row of rows)
    passages.set(row.question, [...(passages.get(row.question) ?? []), ...row.passages]);
  return [...passages].map(([text, answers]) => ({ ...blank, text, passages: answers }));
}
