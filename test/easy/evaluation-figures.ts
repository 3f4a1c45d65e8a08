/** The figures of the cases, computed here, under the names that scikit-learn and seqeval have for them. */

import { entityEvaluation } from '../../src/easy/evaluation/entity-evaluation.js';
import type { AverageFigures, Evaluation } from '../../src/easy/evaluation/evaluation.js';
import { labelEvaluation } from '../../src/easy/evaluation/label-evaluation.js';
import { sentenceWithEntities } from '../../src/easy/rows/index.js';
import { allAtOnce } from '../../src/pauses.js';
import type { EvaluationCases } from './evaluation-cases.js';

const bootstrap = { resamples: 100, seed: 0 };

export function evaluationsOf({ labels, multilabel, entities }: EvaluationCases) {
  const answerOf = (given: readonly string[], names: readonly string[]) => ({
    kind: 'labels' as const,
    label: given[0] ?? '',
    score: 0.9,
    labels: given,
    scores: names.map((label) => ({ label, score: given.includes(label) ? 0.9 : 0.1 })),
  });
  const names = [...new Set(labels.predicted)];
  const single = labels.actual.map((label, at) => ({
    text: `text ${at}`,
    actual: [label],
    answer: answerOf([labels.predicted[at] ?? ''], names),
  }));
  const several = multilabel.actual.map((actual, at) => ({
    text: `text ${at}`,
    actual,
    answer: answerOf(multilabel.predicted[at] ?? [], multilabel.names),
  }));
  const sentences = entities.actual.map((tags, at) => {
    const tokens = tags.map((_, token) => `w${token}`);
    const { text, entities: actual } = sentenceWithEntities({ tokens, tags });
    const found = sentenceWithEntities({ tokens, tags: entities.predicted[at] ?? [] }).entities;
    return { text, actual, found: found.map((each) => ({ ...each, text: '', score: 0.9 })) };
  });
  return {
    labels: allAtOnce(labelEvaluation(single, { labels: names, isMultilabel: false, ...bootstrap })),
    multilabel: allAtOnce(
      labelEvaluation(several, { labels: multilabel.names, isMultilabel: true, ...bootstrap }),
    ),
    entities: allAtOnce(entityEvaluation(sentences, bootstrap)),
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
        ? Object.entries(figures).map(([field, value]): [string, number] => [
            `${name} / ${field}`,
            Number(value),
          ])
        : [],
    ),
  );
}
