import type { Plan } from '../distillation/plan.js';
import { plannedObjective } from '../distillation/planned-objective.js';
import type { Recipe } from '../recipe.js';
import { japaneseTokenizer } from './vocabulary.js';

export const japanese = (plan: Plan): Recipe => ({
  language: 'japanese',
  name: (size) => `japanese-${size}`,
  tokenizer: japaneseTokenizer,
  objective: (work, encoder, tokenizer, batchSize) => plannedObjective(plan, { work, encoder, tokenizer, batchSize }),

  leftOut: [],
  sheet: {
    tellingSentence: 'twelve letters',
    caution:
      'News, encyclopaedia and novels name living and dead people. The novels, many of them a hundred years old, have the views of their time; most of the news is of 2005 to 2010.',
  },
  teachers: plan.teachers.map(({ name }) => name),
  options: [],
  cased: false,
  capitalsShown: false,
});
