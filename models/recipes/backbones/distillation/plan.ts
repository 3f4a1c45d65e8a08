import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { parseTrack, relationTracks, type Track } from './track.js';

/** Share of a lesson in the loss; a lesson that weighs nothing isn't computed at all. */
const weightField = z.number().min(0);
const layerField = z.int().min(1);
const trackField = z.string().refine(
  (track) => {
    try {
      return ['last', 'layer', 'words'].includes(parseTrack(track).kind);
    } catch {
      return false;
    }
  },
  { error: 'a track of hidden states: last, words, or layer-<number>' },
);

const directionsSchema = z.strictObject({
  kind: z.enum(['passages', 'spans']),
  /** What of the teacher is learned. */
  track: trackField.default('last'),
  /** After which of the student's layers it is looked for. Default: the last. */
  studentLayer: layerField.optional(),
  weight: weightField,
});

const relationsSchema = z.strictObject({
  kind: z.literal('relations'),
  /** Of the teacher. */
  layer: layerField,
  /** Default: the last. */
  studentLayer: layerField.optional(),
  /** Into how many parts queries, keys and values are cut on both sides; a divisor of both widths. */
  heads: z.int().min(1),
  weight: weightField,
});

const lessonSchema = z.discriminatedUnion('kind', [directionsSchema, relationsSchema]);

/** What a student is taught: by whom, what, and how much each lesson weighs. */
export const planSchema = z.strictObject({
  /** Share of the student's tokens that are replaced by [MASK]; its teachers have read them all. */
  maskedShare: z.number().min(0).max(0.9).default(0.15),
  /**
   * Share of passages whose capitals the student sees by token types, as it will where it finds entities. The others
   * have none of them, as where it classifies texts.
   */
  capitalsShare: z.number().min(0).max(1).default(0),
  teachers: z
    .array(z.strictObject({ name: z.string().min(1), lessons: z.array(lessonSchema).min(1) }))
    .min(1)
    .refine((teachers) => new Set(teachers.map(({ name }) => name)).size === teachers.length, {
      error: 'a teacher is named twice',
    }),
});
export type Plan = z.infer<typeof planSchema>;
export type PlanInput = z.input<typeof planSchema>;
export type DirectionsLesson = z.infer<typeof directionsSchema>;
export type RelationsLesson = z.infer<typeof relationsSchema>;

/** The plan without lessons of weight 0, the weights of all others adding up to 1. @throws Error if none is left. */
export function weighedPlan(input: PlanInput): Plan {
  const { maskedShare, capitalsShare, teachers } = planSchema.parse(input);
  const lessons = teachers.flatMap((teacher) => teacher.lessons);
  const total = lessons.reduce((sum, { weight }) => sum + weight, 0);
  if (total === 0) throw new Error('the plan has no lesson that weighs more than 0');
  return {
    maskedShare,
    capitalsShare,
    teachers: teachers.flatMap(({ name, lessons: own }) => {
      const kept = own.filter(({ weight }) => weight > 0);
      const weighed = kept.map((lesson) => ({ ...lesson, weight: lesson.weight / total }));
      return weighed.length === 0 ? [] : [{ name, lessons: weighed }];
    }),
  };
}

/** The tracks that a teacher's lessons read, each once. */
export function tracksOf({ lessons }: Plan['teachers'][number]): Track[] {
  const tracks = lessons.flatMap((lesson) =>
    lesson.kind === 'relations' ? relationTracks(lesson.layer) : [lesson.track],
  );
  return [...new Set(tracks)];
}

/** @param named a key of the plans, or the path of a JSON file with such a plan. @throws Error */
export function planNamed(named: string, plans: Readonly<Record<string, PlanInput>>): Plan {
  if (named.endsWith('.json')) {
    const json: unknown = JSON.parse(readFileSync(named, 'utf8'));
    return weighedPlan(planSchema.parse(json));
  }
  const plan = plans[named];
  if (plan === undefined) {
    throw new Error(`no plan ${named}: give ${Object.keys(plans).join(', ')}, or a .json file`);
  }
  return weighedPlan(plan);
}
