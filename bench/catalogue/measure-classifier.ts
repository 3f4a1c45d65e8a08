import type { InferenceResult } from 'orchard-nlp';
import type { ClassifierRecipe, LabelledText } from '../../models/recipes/catalogue/recipe.js';
import { classificationScores } from '../../src/families/index.js';
import type { Ask } from './ask.js';
import { bootstrapped, share } from './intervals.js';
import { type Measurement, measureEach } from './measure-each.js';

/** Accuracy; for multilabel models macro-F1, where a score above one half says yes. */
export function measureClassifier({ type, tests }: ClassifierRecipe, ask: Ask, datasets: string): Promise<Measurement> {
  return measureEach(tests, datasets, async (rows) => {
    const texts = rows.map(({ text }) => text);
    const results = await ask(texts);
    const predictions = rows.map((row, at) => ({ actual: row.labels, ...predictionOf(results[at], type) }));
    const figure =
      type === 'multilabel-text-classification'
        ? { metric: 'macro-F1' as const, ...macroF1(predictions, labelsOf(results)) }
        : { metric: 'accuracy' as const, ...share(predictions.filter(isRight).length, rows.length) };
    return { texts, figure };
  });
}

interface Prediction {
  readonly actual: LabelledText['labels'];
  readonly predicted: readonly string[];
}

function predictionOf(
  result: InferenceResult | undefined,
  type: ClassifierRecipe['type'],
): Pick<Prediction, 'predicted'> {
  const { labels, scores } = result ?? { labels: [], scores: [] };
  return {
    predicted:
      type === 'multilabel-text-classification'
        ? labels.filter((_, rank) => (scores[rank] ?? 0) > 0.5)
        : labels.slice(0, 1),
  };
}

const isRight = ({ actual, predicted }: Prediction): boolean => actual[0] === predicted[0];

/** Every result has a score for each label. */
const labelsOf = (results: readonly InferenceResult[]): string[] => [...(results[0]?.labels ?? [])].sort();

function macroF1(predictions: readonly Prediction[], labels: readonly string[]) {
  const idsOf = (names: readonly string[]) => names.map((name) => labels.indexOf(name));
  const rows = predictions.map(({ actual, predicted }) => ({
    actual: idsOf(actual),
    predicted: idsOf(predicted),
  }));
  return bootstrapped(rows, (some) => {
    const [predicted, actual] = [some.map((row) => row.predicted), some.map((row) => row.actual)];
    return classificationScores(predicted, actual, [...labels.keys()]).f1;
  });
}
