import type { ClassificationType } from '../../../src/index.js';
import type { Random } from '../../../src/system/index.js';

/** Every label of a model with its probability. */
export type LabelScores = readonly { readonly label: string; readonly score: number }[];

/** One label, drawn by its probability; of a multilabel model any number, each drawn by itself. */
export function drawnLabels(type: ClassificationType, scores: LabelScores, random: Random): string[] {
  if (type === 'multilabel-text-classification') {
    return scores.flatMap(({ label, score }) => (random.uniform() < score ? [label] : []));
  }
  let left = random.uniform() * scores.reduce((sum, { score }) => sum + score, 0);
  const drawn = scores.find(({ score }) => {
    left -= score;
    return left < 0;
  });
  return [drawn ?? scores[0]].flatMap((each) => (each === undefined ? [] : [each.label]));
}
