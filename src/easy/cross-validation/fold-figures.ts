import type { Evaluation } from '../evaluation/index.js';
import { evaluationFigures } from '../evaluation-figures.js';
import type { FoldFigure, FoldSummary } from './cross-validation.js';

/** The figures of one evaluation by name. */
export function namedFigures(evaluation: Evaluation): Record<string, number> {
  return Object.fromEntries(evaluationFigures(evaluation).map(({ name, value }) => [name, value]));
}

/** Mean and spread of each figure over folds, two at least. */
export function figuresOverFolds(folds: readonly Pick<FoldSummary, 'figures'>[]): readonly FoldFigure[] {
  const names = Object.keys(folds[0]?.figures ?? {});
  return names.map((name) => {
    const values = folds.map(({ figures }) => figures[name] ?? 0);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
    const deviation = Math.sqrt(squares / (values.length - 1));
    return { name, mean, deviation, lowest: Math.min(...values), highest: Math.max(...values) };
  });
}
