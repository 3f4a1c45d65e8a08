import type { PlanInput } from '../distillation/plan.js';

/** What Japanese students are taught, by name. */
export const plans: Readonly<Record<string, PlanInput>> = {
  /** Passages from the Universal Sentence Encoder alone. */
  use: { teachers: [{ name: 'use-multilingual-v3', lessons: [{ kind: 'passages', weight: 1 }] }] },
  /** Words in context from multilingual BERT, passages from the Universal Sentence Encoder. */
  'mbert-use': {
    teachers: [
      { name: 'bert-base-multilingual-cased', lessons: [{ kind: 'spans', track: 'layer-11', weight: 0.5 }] },
      { name: 'use-multilingual-v3', lessons: [{ kind: 'passages', weight: 0.5 }] },
    ],
  },
};
