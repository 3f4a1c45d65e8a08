import type { Answer } from '../answers.js';

/**
 * How unsure a model is of an answer, 0 (sure) to 1 (Settles 2009, sections 3.1 and 3.2).
 *
 * - One label, or passages: 1 less the lead of the most probable over the second (margin sampling: Scheffer et al. 2001).
 * - Any number of labels: of the label that is closest to one half, 1 less twice its distance from that.
 * - Entities: how improbable it is that all of them are right, taken one by one. Where none was found nothing tells how
 *   close the model came to one, so such a text counts as sure.
 */
export function uncertaintyOf(answer: Answer, isMultilabel: boolean): number {
  if (answer.kind === 'entities') {
    return 1 - answer.entities.reduce((product, { score }) => product * score, 1);
  }
  const scores = (answer.kind === 'labels' ? answer.scores : answer.passages).map(({ score }) => score);
  if (isMultilabel) return Math.max(0, ...scores.map((score) => 1 - Math.abs(2 * score - 1)));
  const [first = 1, second = 0] = scores.sort((a, b) => b - a);
  return 1 - (first - second);
}
