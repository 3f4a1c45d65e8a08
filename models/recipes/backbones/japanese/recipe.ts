import type { Plan } from '../distillation/plan.js';
import { plannedObjective } from '../distillation/planned-objective.js';
import type { Recipe } from '../recipe.js';
import { japaneseTokenizer } from './vocabulary.js';

export const japanese = (plan: Plan): Recipe => ({
  language: 'japanese',
  name: (size) => `japanese-${size}`,
  tokenizer: japaneseTokenizer,
  objective: (work, encoder, tokenizer, batchSize) =>
    plannedObjective(plan, { work, encoder, tokenizer, batchSize }),

  leftOut: [],
  teachers: plan.teachers.map(({ name }) => name),
  options: [],
  cased: false,
  capitalsShown: false,
});
