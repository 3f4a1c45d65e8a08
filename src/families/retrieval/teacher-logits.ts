import type { TeacherVectors } from './retrieval-dataset.js';

/** A teacher's logits of passages for a training question. Undefined for a question without a vector, such as an edited copy. */
export type TeacherLogits = (question: number) => ((passages: readonly number[]) => Float64Array) | undefined;

/**
 * The standard deviation of the logits. The cosines of one encoder lie closer together than those of another, so they
 * can't all be scaled by the same number. Those of bge-small-en-v1.5 are multiplied by about 50.
 */
const SPREAD = 4.3;

/** From the cosines of the teacher's vectors. */
export function teacherLogits(teacher: TeacherVectors): TeacherLogits {
  const { width, questions, passages } = teacher;
  const scale = SPREAD / (deviation(teacher) || 1);
  const known = questions.length / width;
  return (question) => {
    if (question >= known) return undefined;
    const vector = questions.subarray(question * width, (question + 1) * width);
    return (ids) =>
      Float64Array.from(ids, (id) => scale * dot(vector, passages.subarray(id * width, (id + 1) * width)));
  };
}

/** Questions and passages whose cosines are compared, at most. */
const SAMPLED = 256;

/** The standard deviation of the cosines between some questions and some passages. */
function deviation({ width, questions, passages }: TeacherVectors): number {
  const some = spread(passages, width);
  const cosines = spread(questions, width).flatMap((question) => some.map((passage) => dot(question, passage)));
  const mean = cosines.reduce((sum, each) => sum + each, 0) / cosines.length;
  return Math.sqrt(cosines.reduce((sum, each) => sum + (each - mean) ** 2, 0) / cosines.length);
}

/** Some of the vectors, evenly spread over all of them. */
function spread(vectors: Float32Array, width: number): Float32Array[] {
  const count = vectors.length / width;
  const taken = Math.min(count, SAMPLED);
  return Array.from({ length: taken }, (_, at) => {
    const first = Math.floor((at * count) / taken) * width;
    return vectors.subarray(first, first + width);
  });
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}
