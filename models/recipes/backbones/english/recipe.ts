import { englishTokenizer } from '../../../../src/tokenizer/index.js';
import { writtenVocabulary } from '../corpus/vocabulary.js';
import { curriculum } from '../distillation/courses.js';
import { distillation } from '../distillation/distillation.js';
import { type Plan, tracksOf } from '../distillation/plan.js';
import { Targets } from '../distillation/targets.js';
import type { Recipe } from '../recipe.js';
import { learningSettings, SEED } from '../settings.js';
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
    objective(work, encoder, tokenizer, batchSize) {
      const targets = Targets.open(
        plan.teachers.map((teacher) => ({
          folder: work.targets(teacher.name),
          tracks: tracksOf(teacher),
        })),
      );
      const widths = new Map([...targets.teachers].map(([name, { record }]) => [name, record.width]));
      return distillation({
        encoder,
        specialTokens: tokenizer.specialTokens,
        targets,
        curriculum: curriculum(plan, encoder, widths),
        maskedShare: plan.maskedShare,
        ...(plan.capitalsShare > 0 && {
          capitals: { share: plan.capitalsShare, passages: work.readPassages(), tokenizer },
        }),
        validationTexts: learningSettings.validationExamples,
        batchSize,
        seed: SEED,
      });
    },
    curve: { axis: '1 − cosine' },
    leftOut,
    teachers: plan.teachers.map(({ name }) => name),
    options: [...(cased ? ['--cased'] : []), ...(capitalsShown ? [`--plan ${planName}`] : [])],
    cased,
    capitalsShown,
  };
}
