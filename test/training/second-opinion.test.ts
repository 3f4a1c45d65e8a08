/** Loss and all gradients of whole training steps, checked against TensorFlow.js' own differentiation. */
import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { initialize, type Pooling, parseBertConfig } from '../../src/encoder/index.js';
import { classificationTask } from '../../src/families/papaya/classification-task.js';
import {
  type Graph,
  type GraphExecutor,
  onnxExecutor,
  type TensorData,
  tensorflowExecutor,
} from '../../src/graph/index.js';
import { evaluate } from '../../src/graph/tensorflow/evaluate.js';
import { Random } from '../../src/random.js';
import { GradientEngine } from '../../src/training/gradient-engine.js';
import { padBatch } from '../../src/training/padded-batch.js';
import { LOSS } from '../../src/training/training-graph.js';

beforeAll(async () => {
  await tf.setBackend('cpu');
});

const encoder = parseBertConfig(
  {
    model_type: 'bert',
    vocab_size: 40,
    hidden_size: 16,
    num_hidden_layers: 2,
    num_attention_heads: 2,
    intermediate_size: 32,
    max_position_embeddings: 12,
    hidden_dropout_prob: 0.1,
    attention_probs_dropout_prob: 0.1,
  },
  'config.json',
)._unsafeUnwrap();

const random = Random.fromSeed(4);
const ROWS = 5;
/** Sequences of 3 to 9 tokens, so that some are padded and tokens repeat. */
const encodings = Array.from({ length: ROWS }, () => {
  const ids = Int32Array.from({ length: 3 + random.integer(7) }, () => random.integer(40));
  const typeIds = ids.map((_, at) => (at > 4 ? 1 : 0));
  return { ids, typeIds, sequenceIds: new Int32Array(ids.length), truncated: 0, offsets: null };
});

type Kind = 'binary' | 'multiclass' | 'multilabel';

function taskFor(kind: Kind, pooling: Pooling) {
  const labels = kind === 'binary' ? ['no', 'yes'] : ['a', 'b', 'c'];
  const labelIds = (row: number) => (kind === 'multilabel' ? [0, 2].slice(row % 3) : [row % labels.length]);
  const rows = Array.from({ length: ROWS }, (_, row) => ({ text: `${row}`, labelIds: labelIds(row) }));
  return classificationTask({ kind, labels, train: rows, dev: rows, warnings: [] }, pooling);
}

/** The graph that was compiled last and what its last run was fed. */
interface Seen {
  graph?: Graph;
  feeds: Readonly<Record<string, TensorData>>;
}

/** Looks over the shoulder of an executor. */
function watched(executor: GraphExecutor, seen: Seen): GraphExecutor {
  return {
    specificationVersion: 1,
    async compile(graph, options) {
      seen.graph = graph;
      const compiled = await executor.compile(graph, options);
      return {
        run(feeds, outputs) {
          seen.feeds = feeds;
          return compiled.run(feeds, outputs);
        },
        release: () => compiled.release(),
      };
    },
  };
}

interface Step {
  readonly loss: number;
  readonly gradients: ReadonlyMap<string, Float32Array>;
}

/** One step of the trainer's own engine: masks, graph, row gradients and all. */
async function engineStep(kind: Kind, pooling: Pooling, executor: GraphExecutor): Promise<Step> {
  const { head } = taskFor(kind, pooling);
  const parameters = head.parameters(encoder);
  const engine = await GradientEngine.create({
    executor,
    head,
    encoder,
    parameters,
    batchSize: ROWS,
    longest: 12,
    threads: 1,
    seed: 8,
  });
  const normal = Random.fromSeed(2);
  for (const spec of parameters) {
    initialize(spec, engine.store.get(spec.name).weights, () => 5 * normal.normal());
  }
  const targets = head.targets(
    encodings.map((encoding, row) => ({ row, encoding })),
    { labelSmoothing: 0.1, balanced: true },
  );
  const loss = await engine.run(padBatch(encodings, 0), targets);
  const gradients = new Map(engine.store.parameters.map((each) => [each.name, each.gradients.slice()]));
  await engine.release();
  return { loss, gradients };
}

/** The loss of the same graph and feeds, differentiated by TensorFlow.js. */
async function differentiated({ graph, feeds }: Seen): Promise<Step> {
  const loss = graph?.outputs.get(LOSS);
  if (graph === undefined || loss === undefined) throw new Error('nothing was compiled');
  const sizes = { batch: ROWS, tokens: Math.max(...encodings.map(({ ids }) => ids.length)) };
  const toTensor = (feed: TensorData | undefined) => {
    if (feed === undefined || feed.type === 'int64') throw new Error('a feed is missing');
    return tf.tensor(feed.data, [...feed.dims], feed.type);
  };
  const inputs = graph.inputs.map(({ name }) => [name, toTensor(feeds[name])] as const);
  const parameters = graph.parameters.map(({ name }) => toTensor(feeds[name]));
  const lossOf = (...values: tf.Tensor[]) => {
    const known = new Map<string, tf.Tensor>(inputs);
    for (const [at, { name }] of graph.parameters.entries()) {
      const value = values[at];
      if (value !== undefined) known.set(name, value);
    }
    const [value] = evaluate<tf.Tensor>(tf, [loss], known, sizes);
    if (value === undefined) throw new Error('no loss');
    return value.asScalar();
  };
  const { value, grads } = tf.valueAndGrads(lossOf)(parameters);
  const gradients = new Map<string, Float32Array>();
  for (const [at, { name }] of graph.parameters.entries()) {
    gradients.set(name, Float32Array.from((await grads[at]?.data()) ?? []));
  }
  return { loss: (await value.data())[0] ?? Number.NaN, gradients };
}

/** ‖a − b‖ of one parameter's gradients may be this share of ‖b‖. */
const TOLERANCE = 1e-5;
/** What ‖a − b‖ may be in any case: attention does not depend on its key biases, whose gradients are rounding noise. */
const ZERO_IN_THEORY = 1e-8;

/** The parameters whose gradients are not the expected ones, each compared by itself. */
function deviating(step: Step, expected: Step): string[] {
  return [...expected.gradients].flatMap(([name, wanted]) => {
    const given = step.gradients.get(name);
    const difference = Math.hypot(...wanted.map((value, at) => (given?.[at] ?? Number.NaN) - value));
    const limit = Math.max(TOLERANCE * Math.hypot(...wanted), ZERO_IN_THEORY);
    return difference <= limit ? [] : [`${name}: off by ${difference}, at most ${limit} is allowed`];
  });
}

const combinations = (['binary', 'multiclass', 'multilabel'] as const).flatMap((kind) =>
  (['first', 'mean'] as const).map((pooling) => [kind, pooling] as const),
);

describe('a training step on ONNX Runtime and one on TensorFlow.js', () => {
  it.each(combinations)(
    'have the loss and gradients that TensorFlow.js finds by itself: %s, pooled by %s',
    async (kind, pooling) => {
      const seen: Seen = { feeds: {} };
      const onOnnx = await engineStep(kind, pooling, watched(onnxExecutor(), seen));
      const expected = await differentiated(seen);
      expect([...expected.gradients.keys()].sort()).toEqual([...onOnnx.gradients.keys()].sort());
      expect(Math.abs(onOnnx.loss - expected.loss)).toBeLessThan(1e-5 * expected.loss);
      expect(deviating(onOnnx, expected)).toEqual([]);
      const onTensorFlow = await engineStep(kind, pooling, tensorflowExecutor(tf));
      expect(Math.abs(onTensorFlow.loss - expected.loss)).toBeLessThan(1e-5 * expected.loss);
      expect(deviating(onTensorFlow, expected)).toEqual([]);
    },
  );
});
