import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  hiddenTokenFeeds,
  hiddenTokenLoss,
} from '../../models/recipes/backbones/masked-language/hidden-token-loss.js';
import {
  neighbourFeeds,
  neighbourLoss,
} from '../../models/recipes/backbones/masked-language/neighbour-loss.js';
import { OneHotRows } from '../../models/recipes/backbones/masked-language/one-hot-rows.js';
import { addGradients, Graph, onnxExecutor, type Tensor, type TensorData } from '../../src/graph/index.js';
import { gradientError, someNumbers } from '../support/finite-differences.js';
import { tinyBert as encoder } from '../support/tiny-bert.js';

beforeAll(async () => {
  await tf.setBackend('cpu');
});

const { vocabularySize: VOCABULARY, width: WIDTH } = encoder;

const matrix = (data: Float32Array, columns: number): TensorData => ({
  type: 'float32',
  dims: [data.length / columns, columns],
  data,
});

describe('a matrix with one number per row', () => {
  it('keeps nothing of the one before, whichever is larger', () => {
    const rows = new OneHotRows(3);
    expect([...rows.of([2, 0], 0.5).data]).toEqual([0, 0, 0.5, 0.5, 0, 0]);
    expect([...rows.of([1], 1).data]).toEqual([0, 1, 0]);
    expect([...rows.of([0, 2, 1], 2).data]).toEqual([2, 0, 0, 0, 0, 2, 0, 2, 0]);
  });
});

/** Two texts of 4 and 3 tokens, laid out tokens first; three tokens are hidden. */
const hidden = [
  { text: 0, token: 1, id: 6 },
  { text: 0, token: 2, id: 9 },
  { text: 1, token: 1, id: 6 },
];
const laidOut = Int32Array.of(2, 2, 4, 4, 9, 3, 3, 0);

describe('the loss of hidden tokens', () => {
  const embeddings = someNumbers(VOCABULARY * WIDTH, 0.5, 1);
  const head = new Map([
    [
      'cls.predictions.transform.dense.weight',
      { dims: [WIDTH, WIDTH], values: someNumbers(WIDTH ** 2, 0.5, 2) },
    ],
    ['cls.predictions.transform.dense.bias', { dims: [WIDTH], values: someNumbers(WIDTH, 0.5, 3) }],
    ['cls.predictions.transform.LayerNorm.weight', { dims: [WIDTH], values: someNumbers(WIDTH, 1, 4) }],
    ['cls.predictions.transform.LayerNorm.bias', { dims: [WIDTH], values: someNumbers(WIDTH, 0.5, 5) }],
    ['cls.predictions.bias', { dims: [VOCABULARY], values: someNumbers(VOCABULARY, 0.5, 6) }],
  ]);
  const feeds = {
    ...hiddenTokenFeeds(hidden, { texts: 2, tokens: 4 }, 0.7, new OneHotRows(VOCABULARY)),
    ids: { type: 'int32' as const, dims: [4, 2], data: laidOut },
  };
  /** The states are the word embeddings themselves, so that these are read and multiplied. */
  const build = (graph: Graph): Tensor => {
    const table = graph.parameter('embeddings', [VOCABULARY, WIDTH]);
    const states = graph.flattenRows(graph.gather(table, graph.input('ids', 'int32', [4, 2])));
    return hiddenTokenLoss(graph, states, table, encoder);
  };

  /** The same in TensorFlow.js, token by token. */
  function reference(table: tf.Tensor2D): tf.Scalar {
    const value = (name: string) => {
      const { dims, values } = head.get(`cls.predictions.${name}`) ?? {
        dims: [0],
        values: new Float32Array(),
      };
      return tf.tensor(values, dims);
    };
    const losses = hidden.map(({ text, token, id }) => {
      const state = tf.gather(table, tf.tensor1d([laidOut[2 * token + text] ?? 0], 'int32'));
      const inner = tf
        .matMul(state, value('transform.dense.weight').as2D(WIDTH, WIDTH), false, true)
        .add(value('transform.dense.bias'));
      const active = inner.mul(inner.div(Math.SQRT2).erf().add(1)).div(2);
      const { mean, variance } = tf.moments(active, 1, true);
      const normalized = active
        .sub(mean)
        .div(variance.sqrt())
        .mul(value('transform.LayerNorm.weight'))
        .add(value('transform.LayerNorm.bias'));
      const scores = tf.matMul(normalized.as2D(1, WIDTH), table, false, true).add(value('bias'));
      return tf.neg(tf.slice(tf.logSoftmax(scores.as2D(1, VOCABULARY)), [0, id], [1, 1]));
    });
    return tf
      .addN(losses)
      .sum()
      .mul(0.7 / hidden.length)
      .asScalar();
  }

  it('has the value and, for embeddings that are both read and multiplied, the gradient that TensorFlow.js finds', async () => {
    const graph = new Graph();
    const loss = build(graph);
    graph.output('loss', loss);
    const found = addGradients(graph, loss).find(({ parameter }) => parameter.name === 'embeddings');
    if (found?.dense === undefined || found.rows[0] === undefined) throw new Error('a gradient is missing');
    graph.output('dense', found.dense);
    graph.output('rows', found.rows[0].rows);
    const outputs = {
      loss: { type: 'float32' as const, dims: [], data: new Float32Array(1) },
      dense: matrix(new Float32Array(VOCABULARY * WIDTH), WIDTH),
      rows: { type: 'float32' as const, dims: [4, 2, WIDTH], data: new Float32Array(8 * WIDTH) },
    };
    const compiled = await onnxExecutor().compile(graph);
    const parameters = Object.fromEntries(
      [...head].map(([name, { dims, values }]) => [name, { type: 'float32' as const, dims, data: values }]),
    );
    await compiled.run({ ...feeds, ...parameters, embeddings: matrix(embeddings, WIDTH) }, outputs);
    await compiled.release();

    const { value, grad } = tf.valueAndGrad((x: tf.Tensor) => reference(x.as2D(VOCABULARY, WIDTH)))(
      tf.tensor2d(embeddings, [VOCABULARY, WIDTH]),
    );
    expect(outputs.loss.data[0]).toBeCloseTo((await value.data())[0] ?? Number.NaN, 5);
    const gradient = Float32Array.from(outputs.dense.data, Number);
    for (const [place, id] of laidOut.entries()) {
      for (let column = 0; column < WIDTH; column += 1) {
        const at = id * WIDTH + column;
        gradient[at] = (gradient[at] ?? 0) + (outputs.rows.data[place * WIDTH + column] ?? 0);
      }
    }
    for (const [at, expected] of (await grad.data()).entries()) expect(gradient[at]).toBeCloseTo(expected, 5);
  });

  it('has the gradients that finite differences have, in all parameters', async () => {
    const parameters = new Map([
      ...head,
      ['embeddings', { dims: [VOCABULARY, WIDTH], values: embeddings.slice() }] as const,
    ]);
    expect(await gradientError({ parameters, feeds, loss: build })).toBeLessThan(2e-3);
  });
});

describe('the loss of neighbours', () => {
  const lengths = [3, 2, 1, 3];
  const states = someNumbers(12 * WIDTH, 1, 8);
  const feeds = neighbourFeeds(lengths, 0.5);
  const build = (graph: Graph): Tensor => neighbourLoss(graph, graph.parameter('states', [12, WIDTH]), 0.05);

  it('is the mean −log of a softmax over cosines by the temperature, the text itself left out', async () => {
    const means = lengths.map((length, text) =>
      Array.from({ length: WIDTH }, (_, i) => {
        let sum = 0;
        for (let token = 0; token < length; token += 1) sum += states[(token * 4 + text) * WIDTH + i] ?? 0;
        return sum / length;
      }),
    );
    const cosine = (a: readonly number[], b: readonly number[]) =>
      a.reduce((sum, x, i) => sum + x * (b[i] ?? 0), 0) / (Math.hypot(...a) * Math.hypot(...b));
    const losses = means.map((mean, text) => {
      const neighbour = means[[1, 0, 3, 2][text] ?? 0] ?? [];
      const others = means
        .filter((_, other) => other !== text)
        .map((other) => Math.exp(cosine(mean, other) / 0.05));
      return Math.log(others.reduce((sum, x) => sum + x, 0)) - cosine(mean, neighbour) / 0.05;
    });
    const graph = new Graph();
    graph.output('loss', build(graph));
    const compiled = await onnxExecutor().compile(graph);
    const loss = new Float32Array(1);
    await compiled.run(
      { ...feeds, states: matrix(states, WIDTH) },
      { loss: { type: 'float32', dims: [], data: loss } },
    );
    await compiled.release();
    expect(loss[0]).toBeCloseTo((0.5 * losses.reduce((sum, x) => sum + x, 0)) / 4, 4);
  });

  it('has the gradients that finite differences have', async () => {
    const parameters = new Map([['states', { dims: [12, WIDTH], values: states.slice() }]]);
    expect(await gradientError({ parameters, feeds, loss: build }, 0.005, 200)).toBeLessThan(2e-3);
  });
});
