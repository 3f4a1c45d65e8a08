import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { initialize, type Pooling, readEncoder } from '../../src/encoder/index.js';
import { GradientEngine, LOSS, padBatch, type RowHead } from '../../src/engine/index.js';
import { classificationTask } from '../../src/families/classification/training.js';
import { sequenceTask } from '../../src/families/entities/training.js';
import {
  type Graph,
  type GraphExecutor,
  onnxExecutor,
  type TensorData,
  tensorflowExecutor,
} from '../../src/graph/index.js';
import { evaluate } from '../../src/graph/tensorflow/tensorflow-executor.js';
import { Random } from '../../src/system/numbers.js';
import { deviating, type Step, toTensor } from '../engine/step.js';

/** Loss and all gradients of whole training steps, checked against TensorFlow.js' own differentiation. */

beforeAll(async () => {
  await tf.setBackend('cpu');
});

const encoder = readEncoder(
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
);

const random = Random.fromSeed(4);
const ROWS = 5;
/** Sequences of 3 to 9 tokens, so that some are padded and tokens repeat. */
const encodings = Array.from({ length: ROWS }, () => {
  const ids = Int32Array.from({ length: 3 + random.integer(7) }, () => random.integer(40));
  const typeIds = ids.map((_, at) => (at > 4 ? 1 : 0));
  // Two tokens a word of "a b c d e".
  const offsets = Int32Array.from([...ids.keys()].flatMap((token) => [token - (token % 2), token]));
  return { ids, typeIds, sequenceIds: new Int32Array(ids.length), truncated: 0, offsets };
});

type Kind = 'binary' | 'multiclass' | 'multilabel';

function classifierHead(kind: Kind, pooling: Pooling): RowHead {
  const labels = kind === 'binary' ? ['no', 'yes'] : ['a', 'b', 'c'];
  const labelIds = (row: number) => (kind === 'multilabel' ? [0, 2].slice(row % 3) : [row % labels.length]);
  const rows = Array.from({ length: ROWS }, (_, row) => ({ text: `${row}`, labelIds: labelIds(row) }));
  return classificationTask({ kind, labels, train: rows, dev: rows, warnings: [] }, pooling).head;
}

/** Words of one letter; some tokens are further pieces of a word, and some words have none. */
function taggerHead(): RowHead {
  const tags = ['O', 'B-X', 'I-X', 'B-Y'];
  const rows = encodings.map((_, row) => ({
    words: ['a', 'b', 'c', 'd'],
    tags: [row % 2, row % 2 ? 2 : 0, 3, 0],
  }));
  return sequenceTask({ tags, train: rows, dev: rows, warnings: [] }).head;
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

/** One step of the trainer's own engine: masks, graph, sparse gradients and all. */
async function engineStep(head: RowHead, executor: GraphExecutor): Promise<Step> {
  const parameters = head.parameters(encoder);
  const engine = await GradientEngine.create({
    executor,
    head,
    encoder,
    trainable: parameters,
    batchSize: ROWS,
    longest: 12,
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
  const loss = await engine.run(padBatch(encodings, encoder), targets);
  const gradients = new Map(engine.store.parameters.map((each) => [each.name, each.gradients.slice()]));
  await engine.release();
  return { loss, gradients };
}

/** The loss of the same graph and feeds, differentiated by TensorFlow.js. */
async function differentiated({ graph, feeds }: Seen): Promise<Step> {
  const loss = graph?.outputs.get(LOSS);
  if (graph === undefined || loss === undefined) throw new Error('nothing was compiled');
  const sizes = { batch: ROWS, tokens: Math.max(...encodings.map(({ ids }) => ids.length)) };
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

const heads: readonly (readonly [string, RowHead])[] = [
  ...(['binary', 'multiclass', 'multilabel'] as const).flatMap((kind) =>
    (['first', 'mean'] as const).map(
      (pooling) => [`${kind}, pooled by ${pooling}`, classifierHead(kind, pooling)] as const,
    ),
  ),
  ['tags of words', taggerHead()],
];

describe('a training step on ONNX Runtime and one on TensorFlow.js', () => {
  it.each(heads)('have the loss and gradients that TensorFlow.js finds by itself: %s', async (_, head) => {
    const seen: Seen = { feeds: {} };
    const onOnnx = await engineStep(head, watched(onnxExecutor(), seen));
    const expected = await differentiated(seen);
    expect([...expected.gradients.keys()].sort()).toEqual([...onOnnx.gradients.keys()].sort());
    expect(Math.abs(onOnnx.loss - expected.loss)).toBeLessThan(1e-5 * expected.loss);
    expect(deviating(onOnnx, expected)).toEqual([]);
    const onTensorFlow = await engineStep(head, tensorflowExecutor(tf));
    expect(Math.abs(onTensorFlow.loss - expected.loss)).toBeLessThan(1e-5 * expected.loss);
    expect(deviating(onTensorFlow, expected)).toEqual([]);
  });
});
