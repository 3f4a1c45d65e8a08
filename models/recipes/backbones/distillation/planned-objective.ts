import type { Encoder } from '../../../../src/encoder/index.js';
import type { Tokenizer } from '../../../../src/text/index.js';
import { learningSettings, SEED } from '../settings.js';
import type { Objective } from '../student/objective.js';
import type { WorkFolder } from '../work-folder.js';
import { curriculum } from './courses.js';
import { distillation } from './distillation.js';
import { type Plan, tracksOf } from './plan.js';
import { Targets } from './targets.js';

export interface PlannedOptions {
  readonly work: WorkFolder;
  readonly encoder: Encoder;
  /** The student's. */
  readonly tokenizer: Tokenizer;
  /** Texts of a batch. */
  readonly batchSize: number;
}

/** What a plan teaches, from the targets that the work folder has so far. @throws Error if a teacher has none. */
export function plannedObjective(plan: Plan, { work, encoder, tokenizer, batchSize }: PlannedOptions): Objective {
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
}
