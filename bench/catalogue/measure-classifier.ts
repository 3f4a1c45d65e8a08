import type { InferenceResult } from 'orchard-nlp';
import type { Measured } from '../../models/recipes/catalogue/model-facts.js';
import type { ClassifierRecipe, LabelledText } from '../../models/recipes/catalogue/recipe.js';
import { classificationScores } from '../../src/families/papaya/classification-scores.js';
import type { Ask } from './ask.js';
import { bootstrapped, share } from './intervals.js';
import type { Measurement } from './measure.js';

/** Accuracy; of multilabel models macro-F1, where a score above one half says yes. */
export async function measureClassifier(
  { type, tests }: ClassifierRecipe,
  ask: Ask,
  datasets: string,
): Promise<Measurement> {
  const measured: Measured[] = [];
  const asked: string[] = [];
  for (const { title: test, read } of tests) {
    const rows = await read(datasets);
    const texts = rows.map(({ text }) => text);
    const results = await ask(texts);
    const answered = rows.map((row, at) => ({ actual: row.labels, ...answerOf(results[at], type) }));
    const figure =
      type === 'multilabel-text-classification'
        ? { metric: 'macro-F1' as const, ...macroF1(answered, labelsOf(results)) }
        : { metric: 'accuracy' as const, ...share(answered.filter(isRight).length, rows.length) };
    measured.push({ test, rows: rows.length, ...figure });
    for (const text of texts) asked.push(text);
  }
  return { tests: measured, texts: asked };
}

interface Answered {
  readonly actual: LabelledText['labels'];
  readonly predicted: readonly string[];
}

function answerOf(
  result: InferenceResult | undefined,
  type: ClassifierRecipe['type'],
): Pick<Answered, 'predicted'> {
  const { labels, scores } = result ?? { labels: [], scores: [] };
  return {
    predicted:
      type === 'multilabel-text-classification'
        ? labels.filter((_, rank) => (scores[rank] ?? 0) > 0.5)
        : labels.slice(0, 1),
  };
}

const isRight = ({ actual, predicted }: Answered): boolean => actual[0] === predicted[0];

/** Every result has a score for each label. */
const labelsOf = (results: readonly InferenceResult[]): string[] => [...(results[0]?.labels ?? [])].sort();

function macroF1(answered: readonly Answered[], labels: readonly string[]) {
  const idsOf = (names: readonly string[]) => names.map((name) => labels.indexOf(name));
  const rows = answered.map(({ actual, predicted }) => ({
    actual: idsOf(actual),
    predicted: idsOf(predicted),
  }));
  return bootstrapped(rows, (some) => {
    const [predicted, actual] = [some.map((row) => row.predicted), some.map((row) => row.actual)];
    return classificationScores(predicted, actual, [...labels.keys()]).f1;
  });
}
