import { type AverageFigures, type Evaluation, judge } from '../../src/api/evaluate.js';
import { sentenceWithEntities } from '../../src/families/entities/tagged-sentence.js';
import { runToEnd } from '../../src/system/pauses.js';
import type { EvaluationCases } from './evaluation-cases.js';

/** The figures of the cases, computed here, under the names that scikit-learn and seqeval have for them. */

const bootstrap = { resamples: 100, seed: 0 };
const blank = { labels: [], entities: [], passages: [] };

export function evaluationsOf({ labels, multilabel, entities }: EvaluationCases) {
  const answerOf = (given: readonly string[], names: readonly string[]) => ({
    kind: 'labels' as const,
    label: given[0] ?? '',
    score: 0.9,
    labels: given,
    scores: names.map((label) => ({ label, score: given.includes(label) ? 0.9 : 0.1 })),
  });
  // The model knows a label that neither rows nor answers have: it counts in no average.
  const names = [...new Set(labels.predicted), 'fir'];
  const sentence = (tags: readonly string[]) =>
    sentenceWithEntities({ tokens: tags.map((_, token) => `w${token}`), tags });
  const model = { kind: 'labels', name: 'model' } as const;
  const labelled = (given: readonly string[], at: number) => ({
    ...blank,
    text: `text ${at}`,
    labels: given,
  });
  return {
    labels: runToEnd(
      judge(
        { ...model, type: 'multiclass-text-classification', labels: names },
        labels.actual.map((label, at) => labelled([label], at)),
        labels.predicted.map((label) => answerOf([label], names)),
        bootstrap,
      ),
    ),
    multilabel: runToEnd(
      judge(
        { ...model, type: 'multilabel-text-classification', labels: multilabel.names },
        multilabel.actual.map(labelled),
        multilabel.predicted.map((given) => answerOf(given, multilabel.names)),
        bootstrap,
      ),
    ),
    entities: runToEnd(
      judge(
        { ...model, kind: 'entities', type: 'named-entity-recognition', labels: [] },
        entities.actual.map((tags) => ({ ...blank, ...sentence(tags) })),
        entities.predicted.map((tags) => ({
          kind: 'entities',
          entities: sentence(tags).entities.map((each) => ({ ...each, text: '', score: 0.9 })),
        })),
        bootstrap,
      ),
    ),
  };
}

/** Every number of an evaluation, as `macro avg / f1-score`. */
export function namedFigures(evaluation: Evaluation): Map<string, number> {
  if (evaluation.kind === 'passages') return new Map();
  const averages: [string, AverageFigures | undefined][] = [
    ['micro avg', evaluation.micro],
    ['macro avg', evaluation.macro],
    ['weighted avg', evaluation.weighted],
    ['samples avg', evaluation.kind === 'labels' ? evaluation.samples : undefined],
  ];
  const rows = [
    ...averages,
    ...evaluation.classes.map(({ label, ...figures }): [string, AverageFigures] => [label, figures]),
  ];
  return new Map(
    rows.flatMap(([name, figures]): [string, number][] =>
      figures === undefined
        ? []
        : [
            [`${name} / precision`, figures.precision],
            [`${name} / recall`, figures.recall],
            [`${name} / f1-score`, figures.f1],
            [`${name} / support`, figures.support],
          ],
    ),
  );
}

/** Every number of a report of scikit-learn or seqeval, named alike. */
export function reportedFigures(report: Readonly<Record<string, unknown>>): Map<string, number> {
  return new Map(
    Object.entries(report).flatMap(([name, figures]) =>
      typeof figures === 'object' && figures !== null
        ? Object.entries(figures).map(([field, value]): [string, number] => [`${name} / ${field}`, Number(value)])
        : [],
    ),
  );
}
