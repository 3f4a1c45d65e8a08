import type { Confusion, Mistake } from '../model-folder/index.js';

/** A text with its labels, and those that a model gave it. */
export interface JudgedLabels {
  readonly text: string;
  readonly actual: readonly string[];
  readonly predicted: readonly string[];
}

/**
 * The model's mistake on a text, if it made one. Its score is the highest probability of a wrong label or, if labels are
 * only missing, the highest probability that one of these is absent.
 */
export function labelMistake(
  { text, actual, predicted }: JudgedLabels,
  probabilityOf: (label: string) => number,
): Mistake[] {
  const wrong = predicted.filter((label) => !actual.includes(label));
  const missed = actual.filter((label) => !predicted.includes(label));
  if (wrong.length + missed.length === 0) return [];
  const scores =
    wrong.length > 0 ? wrong.map(probabilityOf) : missed.map((label) => 1 - probabilityOf(label));
  return [{ text, expected: [...actual], predicted: [...predicted], score: Math.max(...scores) }];
}

/** How often which label was taken for which, where each text has one. Other labels than these are left out. */
export function confusionOf(
  labels: readonly string[],
  judged: Iterable<Pick<JudgedLabels, 'actual' | 'predicted'>>,
): Confusion {
  const ids = new Map(labels.map((label, id) => [label, id]));
  const counts = labels.map(() => labels.map(() => 0));
  for (const { actual, predicted } of judged) {
    const row = counts[ids.get(actual[0] ?? '') ?? -1];
    const column = ids.get(predicted[0] ?? '') ?? -1;
    if (row?.[column] !== undefined) row[column] += 1;
  }
  return { labels: [...labels], counts };
}
