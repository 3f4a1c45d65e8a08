import { englishTokenizer } from '../../../../src/text/index.js';
import { writtenVocabulary } from '../corpus/vocabulary.js';
import type { Plan } from '../distillation/plan.js';
import { plannedObjective } from '../distillation/planned-objective.js';
import type { Recipe } from '../recipe.js';
import { leftOut } from './sources.js';

export interface EnglishOptions {
  readonly plan: Plan;
  /** Its name on the command line. */
  readonly planName: string;
  /** Whether the student sees capitals, by a vocabulary of its own. */
  readonly cased: boolean;
}

export function english({ plan, planName, cased }: EnglishOptions): Recipe {
  const capitalsShown = plan.capitalsShare > 0;
  return {
    language: 'english',
    name: (size) => `english-${size}${cased ? '-cased' : capitalsShown ? '-entities' : ''}`,
    tokenizer: (work) => (cased ? writtenVocabulary(work, false) : englishTokenizer()),
    objective: (work, encoder, tokenizer, batchSize) => plannedObjective(plan, { work, encoder, tokenizer, batchSize }),

    leftOut,
    sheet: {
      tellingSentence: 'six words',
      caution:
        'Encyclopaedia, novels, speeches and tweets name living and dead people. Some texts are hateful, and were read so that models that find such texts can start from it. Most are of the United States and Great Britain; novels and speeches have the views of their time.',
    },
    teachers: plan.teachers.map(({ name }) => name),
    options: [...(cased ? ['--cased'] : []), ...(capitalsShown ? [`--plan ${planName}`] : [])],
    cased,
    capitalsShown,
  };
}
