import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Dropout, initialize, trainingInputs } from '../../src/encoder/index.js';
import {
  type Adapters,
  adaptedWeights,
  buildEvaluationGraph,
  buildTrainingGraph,
  Evaluator,
  GradientEngine,
  LOSS,
  mergedWeight,
  padBatch,
  type RowHead,
  type Weights,
  withAdapters,
} from '../../src/engine/index.js';
import { classificationTask } from '../../src/families/classification/training.js';
import { flatOutputs } from '../../src/families/softmax.js';
import { Graph, nodesFor, onnxExecutor, type TensorData } from '../../src/graph/index.js';
import { evaluate } from '../../src/graph/tensorflow/tensorflow-executor.js';
import { Random } from '../../src/system/numbers.js';
import { gradientError, someNumbers } from '../support/finite-differences.js';
import { loopInput, words } from '../training/loop-input.js';
import { deviating, type Step, toTensor } from './step.js';

/** Low-rank adapters against a reference that has none: the plain graph over weights W + (alpha / rank)·B·A. */

beforeAll(async () => {
  await tf.setBackend('cpu');
});

const random = Random.fromSeed(4);
const rows = Array.from({ length: 6 }, (_, row) => ({
  text: Array.from({ length: 3 + row }, () => words[random.integer(words.length)]).join(' '),
  labelIds: [row % 3],
}));
const labels = ['a', 'b', 'c'];
const task = classificationTask({ kind: 'multiclass', labels, train: rows, dev: rows, warnings: [] }, 'first');
const { head }: { head: RowHead } = task;
const input = loopInput(task, '');
const { encoder } = input;
const specs = head.parameters(encoder);
const everywhere: Adapters = {
  rank: 3,
  alpha: 7,
  targets: ['query', 'key', 'value', 'attention-output', 'inner', 'outer'],
  dropout: 0,
  lowest: 0,
};
const queryAndValue: Adapters = { ...everywhere, targets: ['query', 'value'], lowest: 1 };

/** Weights of an encoder and of adapters that change much of what it computes. */
function someWeights(adapters: Adapters): Weights {
  return new Map(
    withAdapters(head, adapters)
      .parameters(encoder)
      .map((spec) => {
        const values = new Float32Array(spec.shape.reduce((product, size) => product * size, 1));
        initialize(spec, values, () => 5 * random.normal());
        const isB = spec.name.endsWith('lora_B.weight');
        return [spec.name, isB ? someNumbers(values.length, 0.2, 3) : values];
      }),
  );
}

const isFrozen = (name: string) => specs.some((spec) => spec.name === name && spec.part !== undefined);

function frozenOf(weights: Weights): Weights {
  return new Map([...weights].filter(([name]) => isFrozen(name)));
}

async function engineWith(adapters: Adapters, weights: Weights): Promise<GradientEngine> {
  const adapted = withAdapters(head, adapters);
  const engine = await GradientEngine.create({
    executor: onnxExecutor(),
    head: adapted,
    encoder,
    trainable: adapted.parameters(encoder).filter(({ name }) => !isFrozen(name)),
    frozen: { weights: frozenOf(weights) },
    batchSize: rows.length,
    longest: 16,
    seed: 1,
  });
  engine.store.setWeights(weights);
  return engine;
}

const batch = padBatch(
  input.train.map(({ encoding }) => encoding),
  encoder,
);
const targets = head.targets(input.train, { labelSmoothing: 0, balanced: false });

/** The loss of the plain graph over W + (alpha / rank)·B·A, differentiated by TensorFlow.js. */
async function reference(weights: Weights, adapters: Adapters): Promise<Step> {
  const { graph } = buildTrainingGraph(head, encoder, new Set());
  const loss = graph.outputs.get(LOSS);
  if (loss === undefined) throw new Error('no loss');
  const feeds: Readonly<Record<string, TensorData>> = { ...batch.feeds, ...targets.feeds };
  const inputs = graph.inputs.map(({ name }) => [name, toTensor(feeds[name])] as const);
  const all = withAdapters(head, adapters).parameters(encoder);
  const tensors = all.map(({ name, shape }) => tf.tensor(weights.get(name) ?? [], [...shape], 'float32'));
  const lossOf = (...values: tf.Tensor[]) => {
    const given = new Map(all.map(({ name }, at) => [name, values[at] ?? tf.scalar(0)]));
    const known = new Map<string, tf.Tensor>([...inputs, ...given]);
    for (const [name, a] of given) {
      if (!name.endsWith('lora_A.weight')) continue;
      const b = given.get(name.replace('lora_A', 'lora_B')) ?? a;
      const weight = name.replace('lora_A.weight', 'weight');
      const product = tf.mul(tf.matMul(b, a), adapters.alpha / adapters.rank);
      known.set(weight, tf.add(given.get(weight) ?? a, product));
    }
    const [value] = evaluate<tf.Tensor>(tf, [loss], known, batch.sizes);
    if (value === undefined) throw new Error('no loss');
    return value.asScalar();
  };
  const { value, grads } = tf.valueAndGrads(lossOf)(tensors);
  const gradients = new Map<string, Float32Array>();
  for (const [at, { name }] of all.entries()) {
    if (!isFrozen(name)) gradients.set(name, Float32Array.from((await grads[at]?.data()) ?? []));
  }
  return { loss: (await value.data())[0] ?? Number.NaN, gradients };
}

describe.each([
  ['in every linear layer', everywhere],
  ['of query and value, above the first layer', queryAndValue],
])('adapters %s', (_, adapters) => {
  it('have the loss and the gradients of W + (alpha / rank)·B·A', async () => {
    const weights = someWeights(adapters);
    const engine = await engineWith(adapters, weights);
    const loss = await engine.run(batch, targets);
    const expected = await reference(weights, adapters);
    const gradients = new Map(engine.store.parameters.map((each) => [each.name, each.gradients]));
    expect(Math.abs(loss - expected.loss)).toBeLessThan(1e-5 * expected.loss);
    expect([...gradients.keys()].sort()).toEqual([...expected.gradients.keys()].sort());
    expect(deviating({ loss, gradients }, expected)).toEqual([]);
    await engine.release();
  });

  it('give the same when they are merged', async () => {
    const weights = someWeights(adapters);
    const engine = await engineWith(adapters, weights);
    const fixed = { weights: frozenOf(weights) };
    const apart = await Evaluator.create(onnxExecutor(), withAdapters(head, adapters), encoder, fixed);
    const merged = new Map(
      adaptedWeights(specs, adapters).map((spec) => {
        const own = weights.get(spec.name) ?? new Float32Array();
        return [spec.name, mergedWeight(spec, adapters, weights, own)];
      }),
    );
    const whole = new Map(specs.map(({ name }) => [name, merged.get(name) ?? weights.get(name) ?? new Float32Array()]));
    const plain = await Evaluator.create(onnxExecutor(), head, encoder, { weights: whole });
    const expected = flatOutputs(await apart.outputs(input.dev, engine.parameterFeeds));
    const outputs = flatOutputs(await plain.outputs(input.dev, {}));
    const largest = Math.max(...expected.map(Math.abs));
    for (const [at, value] of outputs.entries()) {
      expect(Math.abs(value - (expected[at] ?? Number.NaN))).toBeLessThan(1e-6 * Math.max(1, largest));
    }
    expect(merged.size).toBe(adapters === everywhere ? 12 : 2);
    await Promise.all([engine, apart, plain].map((each) => each.release()));
  });
});

it('have the gradients of finite differences, with dropout on what A reads', async () => {
  const adapters: Adapters = { ...everywhere, targets: ['query', 'value', 'inner'], dropout: 0.5 };
  const adapted = withAdapters(head, adapters);
  const loss = (graph: Graph) => {
    // The encoder has no dropout of its own here. The adapters' mask is always the same.
    const mask = graph.constant([...someNumbers(encoder.width, 1, 9)], [encoder.width]);
    const drop: Dropout = (x, probability) => (probability === 0 ? x : graph.multiply(x, mask));
    return head.loss(graph, adapted.logits(graph, encoder, trainingInputs(graph), drop));
  };
  const probe = new Graph();
  loss(probe);
  const all: Readonly<Record<string, TensorData>> = { ...batch.feeds, ...targets.feeds };
  const feeds: Record<string, TensorData> = {};
  for (const { name } of probe.inputs)
    feeds[name] = all[name] ?? { type: 'float32', dims: [], data: new Float32Array(1) };
  const weights = someWeights(adapters);
  const parameters = new Map(
    adapted
      .parameters(encoder)
      .map(({ name, shape }) => [name, { dims: shape, values: weights.get(name) ?? new Float32Array() }]),
  );
  expect(probe.parameters.map(({ name }) => name).sort()).toEqual([...parameters.keys()].sort());
  expect(await gradientError({ parameters, feeds, loss }, 0.01, 3)).toBeLessThan(2e-3);
});

describe('what is frozen costs no gradient', () => {
  const productsOf = (graph: Graph) =>
    nodesFor([...graph.outputs.values()]).filter(({ operation }) => operation === 'gemm').length;
  const forward = productsOf(buildEvaluationGraph(head, encoder));

  it('none of an encoder that is frozen as a whole: only the head has products of its own', () => {
    const learns = specs.filter(({ part }) => part === undefined).map(({ name }) => name);
    const { graph, gradients, rowOutputs } = buildTrainingGraph(head, encoder, new Set(learns));
    expect(gradients.map(({ parameter }) => parameter.name).sort()).toEqual([...learns].sort());
    expect(rowOutputs.size).toBe(0);
    // ∂/∂W of classifier and pooler, and ∂/∂x of the classifier.
    expect(productsOf(graph) - forward).toBe(3);
  });

  it('none of the layers below the lowest that learns, and none of the embeddings', () => {
    const upTo = (freeze: number) =>
      specs.filter(({ part }) => part === undefined || (typeof part === 'number' && part >= freeze));
    const products = [0, 1, 2].map((freeze) => {
      const learns = new Set(upTo(freeze).map(({ name }) => name));
      const { graph, rowOutputs } = buildTrainingGraph(head, encoder, learns);
      expect(rowOutputs.size).toBe(0);
      return productsOf(graph) - forward;
    });
    // Each layer has six linear layers: ∂/∂W of each, ∂/∂x of each but the three at the bottom; and two products for
    // each of its two norms. The pooler's ∂/∂x leads to the first layer that learns.
    const [all = 0, upper = 0, none = 0] = products;
    expect([all - upper, upper - none, none]).toEqual([6 + 6 + 4, 6 + 3 + 4 + 1, 3]);
  });

  it('none of the weights beside adapters: they learn alone, with the head', () => {
    const adapted = withAdapters(head, everywhere);
    const learns = adapted.parameters(encoder).filter(({ name }) => !isFrozen(name));
    const { gradients, rowOutputs } = buildTrainingGraph(adapted, encoder, new Set(learns.map(({ name }) => name)));
    expect(gradients).toHaveLength(2 * 12 + 4);
    expect(rowOutputs.size).toBe(0);
  });
});
