import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { initialize } from '../../src/encoder/index.js';
import { Evaluator, GradientEngine, padBatch, type RowHead, type Weights } from '../../src/engine/index.js';
import { classificationTask } from '../../src/families/classification/training.js';
import { flatOutputs } from '../../src/families/softmax.js';
import { onnxExecutor, tensorflowExecutor } from '../../src/graph/index.js';
import { Random } from '../../src/system/numbers.js';
import { loopInput, words } from '../training/loop-input.js';

/** Frozen weights together with trainable ones. */

const random = Random.fromSeed(4);
const rows = Array.from({ length: 6 }, (_, row) => ({
  text: Array.from({ length: 3 + row }, () => words[random.integer(words.length)]).join(' '),
  labelIds: [row % 3],
}));
const dataset = {
  kind: 'multiclass',
  labels: ['a', 'b', 'c'],
  train: rows,
  dev: rows,
  warnings: [],
} as const;
const task = classificationTask(dataset, 'first');
const { head }: { head: RowHead } = task;
const input = loopInput(task, '', {}, { dropout: 0.1 });
const specs = head.parameters(input.encoder);
const start: Weights = new Map(
  specs.map((spec) => {
    const values = new Float32Array(spec.shape.reduce((product, size) => product * size, 1));
    initialize(spec, values, () => 5 * random.normal());
    return [spec.name, values];
  }),
);
const isOfHead = (name: string) => name.startsWith('classifier.');

interface Sockets {
  readonly executor?: Parameters<typeof GradientEngine.create>[0]['executor'];
  /** Which parameters learn. Default: all. */
  readonly learns?: (name: string) => boolean;
}

async function engineWith({ executor = onnxExecutor(), learns = () => true }: Sockets) {
  const engine = await GradientEngine.create({
    executor,
    head,
    encoder: input.encoder,
    trainable: specs.filter(({ name }) => learns(name)),
    frozen: { weights: new Map([...start].filter(([name]) => !learns(name))) },
    batchSize: rows.length,
    longest: 16,
    seed: 1,
  });
  engine.store.setWeights(start);
  return engine;
}

/** One step's loss. */
function computeGradients(engine: GradientEngine): Promise<number> {
  const encodings = input.train.map(({ encoding }) => encoding);
  const targets = head.targets(input.train, { labelSmoothing: 0, balanced: false });
  return engine.run(padBatch(encodings, input.encoder), targets);
}

function distance(a: Float32Array, b: Float32Array): number {
  return Math.hypot(...a.map((value, at) => value - (b[at] ?? Number.NaN))) / Math.hypot(...b);
}

describe.each([
  ['ONNX Runtime', () => onnxExecutor()],
  ['TensorFlow.js', () => tensorflowExecutor(tf)],
])('frozen weights on %s', (_, executorOf) => {
  it('have no gradients, and do not change those of the trainable ones', async () => {
    await tf.setBackend('cpu');
    const executor = executorOf();
    const whole = await engineWith({ executor });
    const part = await engineWith({ executor, learns: isOfHead });
    const loss = await computeGradients(whole);
    expect(await computeGradients(part)).toBeCloseTo(loss, 5);
    expect(part.store.parameters.map(({ name }) => name)).toEqual(specs.map((s) => s.name).filter(isOfHead));
    for (const { name, gradients } of part.store.parameters) {
      expect(Math.hypot(...gradients)).toBeGreaterThan(0);
      expect(distance(gradients, whole.store.get(name).gradients)).toBeLessThan(1e-5);
    }
    await whole.release();
    await part.release();
  });
});

it('frozen and trained weights together give the same as feeding all of them', async () => {
  const whole = await engineWith({});
  const part = await engineWith({ learns: isOfHead });
  const fed = await Evaluator.create(onnxExecutor(), head, input.encoder);
  const frozen = new Map([...start].filter(([name]) => !isOfHead(name)));
  const fixed = await Evaluator.create(onnxExecutor(), head, input.encoder, { weights: frozen });
  const expected = flatOutputs(await fed.outputs(input.dev, whole.parameterFeeds));
  const outputs = flatOutputs(await fixed.outputs(input.dev, part.parameterFeeds));
  expect(distance(outputs, expected)).toBeLessThan(1e-6);
  await Promise.all([whole, part, fed, fixed].map((each) => each.release()));
});
