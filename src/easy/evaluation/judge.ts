import type { Steps } from '../../pauses.js';
import type { Answer } from '../answers.js';
import { MULTILABEL } from '../multilabel.js';
import type { BootstrapOptions } from './bootstrap.js';
import { entityEvaluation } from './entity-evaluation.js';
import type { Evaluation } from './evaluation.js';
import type { Example, JudgedModel } from './examples.js';
import { labelEvaluation } from './label-evaluation.js';
import { passageEvaluation } from './passage-evaluation.js';

/**
 * The figures of answers.
 * @param answers of the examples, in their order.
 */
export function judge(
  { kind, labels, type }: JudgedModel,
  examples: readonly Example[],
  answers: readonly (Answer | undefined)[],
  bootstrap: BootstrapOptions,
): Steps<Evaluation> {
  const pairs = examples.map((example, at) => ({ example, answer: answers[at] }));
  if (kind === 'labels') {
    const judged = pairs.flatMap(({ example: { text, labels: actual }, answer }) =>
      answer?.kind === 'labels' ? [{ text, actual, answer }] : [],
    );
    return labelEvaluation(judged, { labels, isMultilabel: type === MULTILABEL, ...bootstrap });
  }
  if (kind === 'entities') {
    const judged = pairs.flatMap(({ example: { text, entities: actual }, answer }) =>
      answer?.kind === 'entities' ? [{ text, actual, found: answer.entities }] : [],
    );
    return entityEvaluation(judged, bootstrap);
  }
  const judged = pairs.flatMap(({ example: { text: question, passages }, answer }) =>
    answer?.kind === 'passages' ? [{ question, answers: passages, ranked: answer.passages }] : [],
  );
  return passageEvaluation(judged, bootstrap);
}
