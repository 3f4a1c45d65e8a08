import { beforeAll, describe, expect, it } from 'vitest';
import { exportedInputs, initialize } from '../../src/encoder/index.js';
import { Evaluator } from '../../src/engine/index.js';
import { classificationTask } from '../../src/families/classification/training.js';
import type { PartFigures, TrainedExpert } from '../../src/families/index.js';
import { flatOutputs } from '../../src/families/softmax.js';
import { Graph, type GraphExecutor, onnxExecutor, type TensorData } from '../../src/graph/index.js';
import { Random } from '../../src/system/numbers.js';
import type { TextOutputs } from '../../src/text/index.js';
import type { Tuning } from '../../src/training/hyperparameters.js';
import { finishModel } from '../../src/training/run-training.js';
import { emptyStats, type LoopInput, type TrainedModel } from '../../src/training/training-loop.js';
import { loopInput, words } from './loop-input.js';

/** Whether a model may answer with integer weights: only where dev falls by half a point at most. */

let input: LoopInput;
let trained: TrainedModel;

/** A model of random weights, and what it gives for dev. */
beforeAll(async () => {
  const random = Random.fromSeed(6);
  const rows = Array.from({ length: 12 }, (_, row) => ({
    text: Array.from({ length: 5 }, () => words[random.integer(words.length)]).join(' '),
    labelIds: [row % 2],
  }));
  const dataset = { kind: 'binary', labels: ['no', 'yes'], train: rows, dev: rows, warnings: [] } as const;
  // No checkpoint is written, so there is no folder.
  input = loopInput(classificationTask(dataset, 'mean'), '');
  const { task, encoder, dev, signal } = input;
  const parameters = task.head.parameters(encoder);
  const weights = new Map(
    parameters.map((spec) => {
      const values = new Float32Array(spec.shape.reduce((product, size) => product * size, 1));
      initialize(spec, values, () => 5 * random.normal());
      return [spec.name, values];
    }),
  );
  const evaluator = await Evaluator.create(onnxExecutor(), task.head, encoder, { weights });
  const devOutputs = await evaluator.outputs(dev, {}, signal);
  await evaluator.release();
  trained = { parameters, weights, fixed: { weights }, devOutputs, stats: emptyStats(8, 'accuracy') };
});

/** Figures that depend on nothing but whether the outputs are those of the float32 weights. */
function anExpert(float32: number, int8: number) {
  const seen: TextOutputs[][] = [];
  const expert: TrainedExpert = {
    finish(outputs) {
      seen.push([...outputs]);
      const value = outputs === trained.devOutputs ? float32 : int8;
      const figures: PartFigures = { value, weights: { encoder: value, expert: 1, bias: [] } };
      return { blend: { encoder: figures, expert: figures, blend: figures }, files: new Map(), judgedTexts: [] };
    },
  };
  return { expert, seen };
}

async function finished(float32: number, int8: number, tuning: Tuning = {}, executor: GraphExecutor = input.executor) {
  const { expert, seen } = anExpert(float32, int8);
  return { model: await finishModel({ ...input, executor }, trained, expert, tuning), seen };
}

describe('a finished model', () => {
  it('answers in float32, and says why, if integer weights cost more than half a point on dev', async () => {
    const { model } = await finished(0.9, 0.894);
    expect(model.quantization).toBeUndefined();
    expect(model.precision).toEqual({ float32: 0.9, int8: 0.894, answers: 'float32' });
    expect(model.blend.blend.weights.encoder).toBe(0.9);
    expect(model.refusal).toMatchObject({ kind: 'float32_kept', count: 1 });
    expect(model.refusal?.message).toContain('0.6 percentage points');
  });

  it.each([0.8951, 0.9, 0.95])('answers with integer weights if dev reaches %d of 0.9', async (int8) => {
    const { model } = await finished(0.9, int8);
    expect(model.quantization?.linear.size).toBeGreaterThan(0);
    expect(model.precision).toEqual({ float32: 0.9, int8, answers: 'int8' });
    expect(model.blend.blend.weights.encoder).toBe(int8);
    expect(model.refusal).toBeUndefined();
  });

  it('is judged by what its integer weights give on dev, which is close to float32', async () => {
    const { seen } = await finished(0.9, 0.9);
    expect(seen).toHaveLength(2);
    const [float32 = [], int8 = []] = seen.map(flatOutputs);
    const error = Math.hypot(...float32.map((value, at) => value - (int8[at] ?? Number.NaN)));
    expect(error).toBeGreaterThan(0);
    expect(error).toBeLessThan(0.1 * Math.hypot(...float32));
  });

  it('answers from an exported graph as it was judged', async () => {
    const { model, seen } = await finished(0.9, 0.9);
    const [, judged = []] = seen.map(flatOutputs);
    const { task, encoder, dev } = input;
    const graph = new Graph();
    graph.output(
      'logits',
      task.head.logits(graph, encoder, exportedInputs(graph), (x) => x),
    );
    const { weights } = trained;
    const { quantization = { linear: new Map(), tables: new Map() } } = model;
    const compiled = await onnxExecutor().compile(graph, { weights, quantization });
    for (const [row, { encoding }] of dev.entries()) {
      const dims = [1, encoding.ids.length];
      const longs = (values: Iterable<number>): TensorData => ({
        type: 'int64',
        dims,
        data: BigInt64Array.from(values, BigInt),
      });
      const feeds = {
        input_ids: longs(encoding.ids),
        attention_mask: longs(encoding.ids.map(() => 1)),
        token_type_ids: longs(encoding.typeIds),
      };
      const data = new Float32Array(1);
      await compiled.run(feeds, { logits: { type: 'float32', dims: [1, 1], data } });
      expect(data[0]).toBeCloseTo(judged[row] ?? Number.NaN, 5);
    }
    await compiled.release();
  });

  it('is not evaluated a second time if integer weights are turned off', async () => {
    const { model, seen } = await finished(0.9, 0.5, { quantize: false });
    expect(seen).toHaveLength(1);
    expect(model.precision).toBeUndefined();
    expect(model.refusal).toBeUndefined();
  });

  it.each([undefined, true])(
    'answers in float32 if the executor has no integer weights; a warning if they were asked for: %s',
    async (quantize) => {
      const executor: GraphExecutor = {
        specificationVersion: 1,
        compile: () => Promise.reject(new RangeError('unexpected')),
      };
      const { model } = await finished(0.9, 0.9, { ...(quantize && { quantize }) }, executor);
      expect(model.quantization).toBeUndefined();
      expect(model.precision).toBeUndefined();
      expect(model.refusal?.message.includes('executor')).toBe(quantize);
    },
  );

  it('keeps positions and types in 8 bits, words in 4', async () => {
    const { quantization } = (await finished(0.9, 0.9)).model;
    const bits = [...(quantization?.tables ?? [])].map(([name, each]) => `${name.split('.').at(-2)} ${each}`);
    expect(bits.sort()).toEqual(['position_embeddings 8', 'token_type_embeddings 8', 'word_embeddings 4']);
  });
});
