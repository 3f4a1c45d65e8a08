import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { initialize } from '../../src/encoder/index.js';
import {
  GradientEngine,
  LOGITS,
  type PairExamples,
  PairGradients,
  type PairHead,
  padBatch,
  withSurrogateLoss,
} from '../../src/engine/index.js';
import type { RetrievalDataset } from '../../src/families/retrieval/retrieval-dataset.js';
import { retrievalTask } from '../../src/families/retrieval/training.js';
import { type Graph, type GraphExecutor, onnxExecutor, type TensorData } from '../../src/graph/index.js';
import { evaluate } from '../../src/graph/tensorflow/tensorflow-executor.js';
import { Random } from '../../src/system/numbers.js';
import type { LoopInput } from '../../src/training/training-loop.js';
import { loopInput, words } from '../training/loop-input.js';
import { deviating, type Step, toTensor } from './step.js';

/**
 * Gradients of texts that are compared with each other, checked against TensorFlow.js' own differentiation.
 */

beforeAll(async () => {
  await tf.setBackend('cpu');
});

const random = Random.fromSeed(11);
const text = (length: number) => Array.from({ length }, () => words[random.integer(words.length)] ?? '').join(' ');

/** Questions and passages of 1 to 12 words: too unlike in length to be encoded in one run. */
const questions = [2, 9, 4, 1, 6].map((length, passage) => ({ question: text(length), passage }));
const dataset: RetrievalDataset = {
  passages: [12, 3, 7, 5, 10].map(text),
  // The last question has the passage of the first for an answer too.
  train: [...questions, { question: questions[0]?.question ?? '', passage: 4 }],
  dev: questions,
  warnings: [],
};
const BATCH = [4, 0, 5, 2, 1];

interface PairTraining {
  readonly input: LoopInput;
  readonly head: PairHead;
  readonly examples: PairExamples;
}

async function trainingOf(dropout: number): Promise<PairTraining> {
  const task = retrievalTask(dataset);
  const { signal } = new AbortController();
  const examples = await task.head.examples({ language: 'english', signal });
  return { input: loopInput(task, '', {}, { dropout }), head: task.head, examples };
}

/** One run of the forward graph. */
interface ForwardRun {
  readonly graph: Graph;
  readonly feeds: Readonly<Record<string, TensorData>>;
}

/** Keeps what an executor's forward graphs are fed: masks, weights and ids as they were. */
function watched(executor: GraphExecutor, runs: ForwardRun[]): GraphExecutor {
  return {
    specificationVersion: 1,
    async compile(graph, options) {
      const compiled = await executor.compile(graph, options);
      if (!graph.outputs.has(LOGITS)) return compiled;
      return {
        run(feeds, outputs) {
          runs.push({ graph, feeds: structuredClone(feeds) });
          return compiled.run(feeds, outputs);
        },
        release: () => compiled.release(),
      };
    },
  };
}

/** Loss and gradients of a batch as training computes them, run by run. */
async function pairStep({
  input,
  head,
  examples,
}: PairTraining): Promise<{ step: Step; runs: ForwardRun[]; lengths: readonly number[] }> {
  const runs: ForwardRun[] = [];
  const executor = watched(onnxExecutor(), runs);
  const parameters = head.parameters(input.encoder);
  const engine = await GradientEngine.create({
    ...input,
    executor,
    head: withSurrogateLoss(head),
    trainable: parameters,
    batchSize: 3 * BATCH.length,
    longest: 16,
    split: true,
    forward: true,
  });
  const normal = Random.fromSeed(2);
  for (const spec of parameters) {
    initialize(spec, engine.store.get(spec.name).weights, () => 5 * normal.normal());
  }
  const sums = new Map(parameters.map(({ name }) => [name, new Float32Array(engine.store.get(name).weights.length)]));
  let total = 0;
  vi.spyOn(engine.store, 'accumulateGradients').mockImplementation((weight) => {
    total += weight;
    for (const { name, gradients } of engine.store.parameters) {
      for (const [at, value] of gradients.entries()) {
        const sum = sums.get(name);
        if (sum) sum[at] = (sum[at] ?? 0) + weight * value;
      }
    }
  });
  const gradients = await PairGradients.create(
    { ...input, engine, options: input.hyperparameters },
    head,
    examples,
    executor,
  );
  const { lengths } = gradients;
  const loss = await gradients.compute(BATCH, 0);
  await gradients.release();
  await engine.release();
  const means = [...sums].map(([name, sum]) => [name, sum.map((value) => value / total)] as const);
  return { step: { loss, gradients: new Map(means) }, runs, lengths };
}

/** Rows of the task's texts in a batch, questions first; a text may be there several times. */
function rowsOf({ examples: { rows } }: PairTraining): number[] {
  const examples = BATCH.map((example) => rows[example] ?? []);
  return [...examples.map(([question = 0]) => question), ...examples.flatMap((each) => each.slice(1))];
}

/**
 * Loss and gradients by TensorFlow.js, encoder and loss in one function.
 * @param order where each text's vector is.
 */
async function differentiated(
  runs: readonly ForwardRun[],
  order: readonly number[],
  { examples }: PairTraining,
): Promise<Step> {
  const names = runs[0]?.graph.parameters.map(({ name }) => name) ?? [];
  const weights = names.map((name) => toTensor(runs[0]?.feeds[name]));
  const feeds = examples.feeds(BATCH);
  const [mask, targets] = [toTensor(feeds.mask), toTensor(feeds.targets)];
  const lossOf = (...values: tf.Tensor[]) => {
    const vectors = runs.map(({ graph, feeds: fed }) => {
      const known = new Map<string, tf.Tensor>(graph.inputs.map(({ name }) => [name, toTensor(fed[name])]));
      for (const [at, name] of names.entries()) known.set(name, values[at] ?? tf.scalar(Number.NaN));
      const [tokens = 0, batch = 0] = fed.ids?.dims ?? [];
      const logits = graph.outputs.get(LOGITS);
      if (logits === undefined) throw new Error('a forward graph has logits');
      return evaluate<tf.Tensor>(tf, [logits], known, { tokens, batch })[0] ?? tf.scalar(Number.NaN);
    });
    const inOrder = tf.gather(tf.concat(vectors), tf.tensor1d([...order], 'int32'));
    const unit = tf.div(inOrder, tf.norm(inOrder, 'euclidean', 1, true));
    const asked = unit.slice(0, BATCH.length);
    const cosines = tf.matMul(asked, unit.slice(BATCH.length), false, true);
    const logs = tf.logSoftmax(tf.add(tf.mul(cosines, 20), mask));
    return tf.neg(tf.sum(tf.mul(logs, targets))).asScalar();
  };
  const { value, grads } = tf.valueAndGrads(lossOf)(weights);
  const gradients = new Map<string, Float32Array>();
  for (const [at, name] of names.entries()) {
    gradients.set(name, Float32Array.from((await grads[at]?.data()) ?? []));
  }
  return { loss: (await value.data())[0] ?? Number.NaN, gradients };
}

/** The places of a batch's texts in runs that take them from the longest to the shortest. */
function longestFirst(input: LoopInput, rows: readonly number[]): number[] {
  const lengthOf = (row: number) => input.train[row]?.encoding.ids.length ?? 0;
  const sorted = [...rows.keys()].sort((a, b) => lengthOf(rows[b] ?? 0) - lengthOf(rows[a] ?? 0));
  return rows.map((_, place) => sorted.indexOf(place));
}

describe('PairGradients', () => {
  it('have the loss and gradients of one function of all texts, under the same dropout masks', async () => {
    const pairs = await trainingOf(0.1);
    const { step, runs } = await pairStep(pairs);
    expect(runs.length).toBeGreaterThan(2);
    const expected = await differentiated(runs, longestFirst(pairs.input, rowsOf(pairs)), pairs);
    expect(Math.abs(step.loss - expected.loss)).toBeLessThan(1e-5 * expected.loss);
    expect([...step.gradients.keys()].sort()).toEqual([...expected.gradients.keys()].sort());
    expect(deviating(step, expected)).toEqual([]);
  });

  it('are those of one large run, without dropout', async () => {
    const pairs = await trainingOf(0);
    const { input } = pairs;
    const { step, runs, lengths } = await pairStep(pairs);
    // Batches are of examples whose longest texts are alike: a question, its passage, or one that does not answer it.
    const tokens = pairs.examples.rows.map((texts) => texts.map((row) => input.train[row]?.encoding.ids.length ?? 0));
    expect(lengths).toEqual(tokens.map((each) => each.toSorted((a, b) => a - b).at(-1)));
    const rows = rowsOf(pairs);
    const encodings = rows.flatMap((row) => input.train[row]?.encoding ?? []);
    const [{ graph, feeds } = expect.fail('nothing was run')] = runs;
    const large = { graph, feeds: { ...feeds, ...padBatch(encodings, input.encoder).feeds } };
    const expected = await differentiated([large], [...rows.keys()], pairs);
    expect(Math.abs(step.loss - expected.loss)).toBeLessThan(1e-5 * expected.loss);
    expect(deviating(step, expected)).toEqual([]);
  });
});
