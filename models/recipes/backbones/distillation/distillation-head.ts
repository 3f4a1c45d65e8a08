import { type Encoder, linearParameters, type ParameterSpec } from '../../../../src/encoder/index.js';
import type { LossHead } from '../../../../src/engine/index.js';
import type { Graph, Tensor } from '../../../../src/graph/index.js';
import { ENCODER_PREFIX } from '../student/objective.js';
import type { Course, Curriculum } from './courses.js';
import { relationsLoss } from './relations-loss.js';
import { tapped } from './tapped.js';
import { textMeans } from './text-means.js';

/** Keeps the norm of a zero vector above 0. */
const TINY = 1e-12;

/** Name of the input that holds the sum of all weights of a batch. */
export const TOTAL = 'total';

export const projectionOf = (course: Course): string => `projection.${course.name}`;

/** The encoder's parameters, and those of the projections that are dropped after training. */
export function distillationParameters(encoder: Encoder, { courses }: Curriculum): readonly ParameterSpec[] {
  const { width, initializerRange } = encoder;
  return [
    ...encoder.parameters(ENCODER_PREFIX),
    ...courses.flatMap((course) =>
      linearParameters(projectionOf(course), width, course.teacherWidth, initializerRange),
    ),
  ];
}

/**
 * Trains a student's hidden states, averaged over each passage and each span and projected to a teacher's width by one
 * linear layer a course, to point in the directions of the teachers' vectors: the loss is the weighted sum of 1 − cosine
 * and of the divergences of relations.
 */
export function distillationHead(encoder: Encoder, curriculum: Curriculum): LossHead {
  return {
    outputs: ({ width }) => width,
    logits: (graph, trained, inputs, dropout) => trained.states(graph, inputs, { prefix: ENCODER_PREFIX, dropout }),
    loss(graph, states) {
      const layer = (number: number) =>
        number === encoder.layers ? states : tapped(encoder, ENCODER_PREFIX, states, number, 'states');
      const total = graph.input(TOTAL, 'float32', []);
      const agreements = curriculum.courses.map((course) => agreement(graph, layer(course.studentLayer), course));
      const missed = agreements.reduce((left, each) => graph.subtract(left, each), total);
      return curriculum.relations.reduce((sum, each) => {
        const parts = (['query', 'key', 'value'] as const).map((tap) =>
          tapped(encoder, ENCODER_PREFIX, states, each.studentLayer, tap),
        );
        return graph.add(sum, relationsLoss(graph, parts, each));
      }, missed);
    },
  };
}

/**
 * The weighted sum of cosines over the inputs `<course> averages` [batch, rows, tokens], which says of which hidden
 * states of its text each row is the mean, and `<course> targets` [batch, rows, width], the teacher's vectors, each
 * of the length of its weight and so 0 where a text has no such row.
 * @param states [tokens*batch, hidden].
 */
export function agreement(graph: Graph, states: Tensor, course: Course): Tensor {
  const { name, teacherWidth } = course;
  const rows = `rows ${name}`;
  const averages = graph.input(`${name} averages`, 'float32', ['batch', rows, 'tokens']);
  const targets = graph.input(`${name} targets`, 'float32', ['batch', rows, teacherWidth]);
  const means = graph.flattenRows(textMeans(graph, averages, states));
  const hidden = states.shape[1] ?? 1;
  const weight = graph.parameter(`${projectionOf(course)}.weight`, [teacherWidth, hidden]);
  const bias = graph.parameter(`${projectionOf(course)}.bias`, [teacherWidth]);
  const projected = graph.gemm(means, weight, { transposeB: true }, bias);
  const squares = graph.reduceSum(graph.multiply(projected, projected), [1], true);
  const unit = graph.divide(projected, graph.sqrt(graph.add(squares, graph.constant([TINY], []))));
  return graph.reduceSum(graph.multiply(unit, graph.flattenRows(targets)), [0, 1]);
}
