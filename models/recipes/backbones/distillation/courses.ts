import type { Encoder } from '../../../../src/encoder/index.js';
import type { DirectionsLesson, Plan, RelationsLesson } from './plan.js';
import { relationTracks, type Track } from './track.js';

/**
 * Lessons that share a projection: what a student's layer should point at, for whole passages, for spans, or for both.
 */
export interface Course {
  /** Unique, and part of the names of inputs and parameters. */
  readonly name: string;
  readonly teacher: string;
  readonly track: Track;
  /** Width of the teacher's vectors. */
  readonly teacherWidth: number;
  /** Counted from 1. */
  readonly studentLayer: number;
  /** Weights in the loss; those that are 0 have no rows. */
  readonly passages: number;
  readonly spans: number;
}

/** What one layer's attention relates, to be learned from one layer of a teacher's. */
export interface Relations {
  readonly name: string;
  readonly teacher: string;
  readonly tracks: readonly [Track, Track, Track];
  readonly teacherWidth: number;
  readonly studentLayer: number;
  readonly heads: number;
  readonly weight: number;
}

/** A plan as a student of a certain shape goes through it. */
export interface Curriculum {
  readonly courses: readonly Course[];
  readonly relations: readonly Relations[];
}

/**
 * @param widths of each teacher's vectors, by its name.
 * @throws Error if a lesson asks for what the student or a teacher hasn't.
 */
export function curriculum(
  { teachers }: Plan,
  { layers, width }: Pick<Encoder, 'layers' | 'width'>,
  widths: ReadonlyMap<string, number>,
): Curriculum {
  const courses = new Map<string, Course>();
  const relations: Relations[] = [];
  for (const { name: teacher, lessons } of teachers) {
    const teacherWidth = widths.get(teacher);
    if (teacherWidth === undefined) throw new Error(`the teacher ${teacher} has no targets`);
    for (const lesson of lessons) {
      const studentLayer = lesson.studentLayer ?? layers;
      if (studentLayer > layers) throw new Error(`the student has no layer ${studentLayer}, only ${layers}`);
      const common = { teacher, teacherWidth, studentLayer };
      if (lesson.kind === 'relations') relations.push(relationsOf(lesson, common, width));
      else addLesson(courses, lesson, common);
    }
  }
  return { courses: [...courses.values()], relations };
}

type Common = Pick<Course, 'teacher' | 'teacherWidth' | 'studentLayer'>;

function addLesson(courses: Map<string, Course>, { kind, track, weight }: DirectionsLesson, common: Common): void {
  const name = `${common.teacher}.${track}.${common.studentLayer}`;
  const earlier = courses.get(name) ?? { name, track, passages: 0, spans: 0, ...common };
  courses.set(name, { ...earlier, [kind]: earlier[kind] + weight });
}

function relationsOf({ layer, heads, weight }: RelationsLesson, common: Common, width: number): Relations {
  for (const each of [width, common.teacherWidth]) {
    if (each % heads !== 0) throw new Error(`${heads} relation heads don't divide a width of ${each}`);
  }
  const name = `${common.teacher}.relations-${layer}.${common.studentLayer}`;
  return { name, tracks: relationTracks(layer), heads, weight, ...common };
}
