import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type ContrastiveExample,
  contrastiveFeeds,
  contrastiveLoss,
} from '../../../src/families/retrieval/training.js';
import { addGradients, onnxExecutor, type TensorData } from '../../../src/graph/index.js';
import { someNumbers } from '../../support/finite-differences.js';

beforeAll(async () => {
  await tf.setBackend('cpu');
});

const WIDTH = 6;

/** Three questions; the passage of the first is a wrong answer to the third, and the second brings two of its own. */
const batch: readonly ContrastiveExample[] = [
  { question: 'a', passages: [1, 7] },
  { question: 'b', passages: [2, 8, 9] },
  { question: 'c', passages: [3, 1] },
];

const questions = someNumbers(3 * WIDTH, 1, 3);
const passages = someNumbers(7 * WIDTH, 1, 4);

interface Step {
  readonly loss: number;
  readonly questions: Float32Array;
  readonly passages: Float32Array;
}

async function compileLoss() {
  const { graph, loss, anchors, candidates } = contrastiveLoss(WIDTH);
  graph.output('loss', loss);
  for (const { parameter, dense } of addGradients(graph, loss)) {
    if (dense) graph.output(`gradient of ${parameter.name}`, dense);
  }
  const compiled = await onnxExecutor().compile(graph);
  return async (q: Float32Array, p: Float32Array, examples: readonly ContrastiveExample[]): Promise<Step> => {
    const matrix = (data: Float32Array): TensorData => ({
      type: 'float32',
      dims: [data.length / WIDTH, WIDTH],
      data,
    });
    const step = {
      loss: new Float32Array(1),
      questions: new Float32Array(q.length),
      passages: new Float32Array(p.length),
    };
    await compiled.run(
      {
        [anchors.name]: matrix(q),
        [candidates.name]: matrix(p),
        ...contrastiveFeeds(examples),
      },
      {
        loss: { type: 'float32', dims: [], data: step.loss },
        [`gradient of ${anchors.name}`]: matrix(step.questions),
        [`gradient of ${candidates.name}`]: matrix(step.passages),
      },
    );
    return { ...step, loss: step.loss[0] ?? Number.NaN };
  };
}

/** The same loss, written in TensorFlow.js. @param allowed 1 where a passage counts for a question, else 0. */
function reference(q: tf.Tensor2D, p: tf.Tensor2D, allowed: readonly (readonly number[])[], right: readonly number[]) {
  const unit = (x: tf.Tensor2D) => tf.div<tf.Tensor2D>(x, tf.norm(x, 'euclidean', 1, true));
  const shares = tf
    .exp(tf.mul(tf.matMul(unit(q), unit(p), false, true), 20))
    .mul(tf.tensor2d(allowed.map((row) => [...row])));
  const own = tf.oneHot(tf.tensor1d([...right], 'int32'), p.shape[0]);
  const probabilities = tf.sum(tf.mul(shares, own), 1).div(tf.sum(shares, 1));
  return tf.neg(tf.mean(tf.log(probabilities))).asScalar();
}

function distance(a: Float32Array, b: ArrayLike<number>): number {
  const difference = Math.hypot(...a.map((value, at) => value - (b[at] ?? 0)));
  return difference / Math.hypot(...a);
}

describe('contrastiveLoss', () => {
  // Columns: 1 7 | 2 8 9 | 3 1. A copy of passage 1 stands last: for the first question it is no wrong answer.
  const allowed = [
    [1, 1, 1, 1, 1, 1, 0],
    [1, 1, 1, 1, 1, 1, 1],
    [1, 1, 1, 1, 1, 1, 1],
  ];

  it('has the value and the gradients that TensorFlow.js finds', async () => {
    const step = await (await compileLoss())(questions, passages, batch);
    const lossOf = (q: tf.Tensor, p: tf.Tensor) => reference(q.as2D(3, WIDTH), p.as2D(7, WIDTH), allowed, [0, 2, 5]);
    const { value, grads } = tf.valueAndGrads(lossOf)([
      tf.tensor2d(questions, [3, WIDTH]),
      tf.tensor2d(passages, [7, WIDTH]),
    ]);
    expect(step.loss).toBeCloseTo((await value.data())[0] ?? Number.NaN, 4);
    const [byQuestion, byPassage] = await Promise.all(grads.map((gradient) => gradient.data()));
    expect(distance(step.questions, byQuestion ?? [])).toBeLessThan(1e-4);
    expect(distance(step.passages, byPassage ?? [])).toBeLessThan(1e-4);
  });

  it('has the gradients that finite differences give', async () => {
    const run = await compileLoss();
    const { questions: analytic } = await run(questions, passages, batch);
    const step = 5e-3;
    const numeric = new Float32Array(questions.length);
    for (let at = 0; at < questions.length; at += 1) {
      const moved = async (by: number) => {
        const changed = questions.with(at, (questions[at] ?? 0) + by);
        return (await run(changed, passages, batch)).loss;
      };
      const near = (await moved(step)) - (await moved(-step));
      const far = (await moved(2 * step)) - (await moved(-2 * step));
      numeric[at] = (8 * near - far) / (12 * step);
    }
    expect(distance(analytic, numeric)).toBeLessThan(5e-3);
  });

  it('is the mean −log of a softmax over 20 · cosine, by hand', async () => {
    const axis = (at: number) => Float32Array.from({ length: WIDTH }, (_, column) => (column === at ? 3 : 0));
    const both = Float32Array.from([...axis(0), ...axis(1)]);
    const examples = [
      { question: 'x', passages: [0] },
      { question: 'y', passages: [1] },
    ];
    const run = await compileLoss();
    expect((await run(both, both, examples)).loss).toBeCloseTo(Math.log(1 + Math.exp(-20)), 6);
    const swapped = Float32Array.from([...axis(1), ...axis(0)]);
    expect((await run(both, swapped, examples)).loss).toBeCloseTo(20 + Math.log(1 + Math.exp(-20)), 4);
  });

  it('is finite for vectors of zeros', async () => {
    const step = await (await compileLoss())(new Float32Array(3 * WIDTH), new Float32Array(7 * WIDTH), batch);
    expect(step.loss).toBeCloseTo((Math.log(6) + 2 * Math.log(7)) / 3, 5);
    expect([...step.questions, ...step.passages].every(Number.isFinite)).toBe(true);
  });
});

describe('contrastiveFeeds', () => {
  /** Which columns count for each question, as 1 and 0. */
  const counting = (examples: readonly ContrastiveExample[]) => {
    const { mask } = contrastiveFeeds(examples);
    const [rows = 0, columns = 0] = mask?.dims ?? [];
    return Array.from({ length: rows }, (_, row) =>
      Array.from(mask?.data ?? [], Number)
        .slice(row * columns, (row + 1) * columns)
        .map((value) => (value < -1e8 ? 0 : 1)),
    );
  };

  it('masks a second copy of the passage, and one that answers the same question elsewhere', () => {
    expect(
      counting([
        { question: 'where', passages: [1, 5] },
        { question: 'when', passages: [2, 1] },
        { question: 'where', passages: [3, 2] },
      ]),
    ).toEqual([
      [1, 1, 1, 0, 0, 1],
      [1, 1, 1, 1, 1, 0],
      [0, 1, 1, 0, 1, 1],
    ]);
  });

  it('aims every question at its own passage', () => {
    const { targets } = contrastiveFeeds(batch);
    expect(targets?.dims).toEqual([3, 7]);
    const ones = Array.from(targets?.data ?? [], Number).flatMap((share, at) => (share === 0 ? [] : [[at, share]]));
    expect(ones).toEqual([0, 7 + 2, 14 + 5].map((at) => [at, expect.closeTo(1 / 3, 6)]));
  });
});
