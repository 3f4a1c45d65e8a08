import type { ClassificationKind } from './classification-dataset.js';

/**
 * How logits are read. `softmax`: one class of several. `sigmoid`: each logit says yes or no by itself, which
 * is a multilabel model, or a binary one with its single logit.
 */
export type Link = 'softmax' | 'sigmoid';

export function linkOf(kind: ClassificationKind): Link {
  return kind === 'multiclass' ? 'softmax' : 'sigmoid';
}
