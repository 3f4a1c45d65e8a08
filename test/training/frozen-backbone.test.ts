import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TrainingError } from '../../src/contract/errors.js';
import { bareName, initialize } from '../../src/encoder/index.js';
import { Evaluator, readCheckpoint } from '../../src/engine/index.js';
import { classificationTask } from '../../src/families/classification/training.js';
import { flatOutputs } from '../../src/families/softmax.js';
import { onnxExecutor } from '../../src/graph/index.js';
import { encodeSafetensors, type NamedTensor } from '../../src/models/index.js';
import { Random } from '../../src/system/numbers.js';
import { trainWordPiece } from '../../src/text/index.js';
import { frozenBackbone } from '../../src/training/frozen-backbone.js';
import type { Tuning } from '../../src/training/hyperparameters.js';
import { type Backbone, readBackbone } from '../../src/training/index.js';
import { estimateMemory } from '../../src/training/memory-estimate.js';
import { ProgressReporter } from '../../src/training/progress-reporter.js';
import { runTrainingLoop, type TrainedModel } from '../../src/training/training-loop.js';
import { GOES_ON_LATER } from '../../src/training/training-run.js';
import { writeCheckpoint } from '../support/checkpoint-builder.js';
import { failureOf } from '../support/outcomes.js';
import { type LoopChanges, loopInput, words } from './loop-input.js';

/** Trainings that leave a backbone's weights as they are, in part or beside adapters. */

const random = Random.fromSeed(5);
const rows = Array.from({ length: 20 }, () => ({
  text: Array.from({ length: 4 + random.integer(6) }, () => words[random.integer(10)]).join(' '),
  labelIds: [random.integer(3)],
}));
const labels = ['a', 'b', 'c'];
const task = classificationTask({ kind: 'multiclass', labels, train: rows, dev: rows, warnings: [] }, 'first');

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-frozen-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** A backbone for the trainings of `loopInput`, with weights of its own. @param floats of its file. */
async function aBackbone(floats: 'F32' | 'F16' = 'F32'): Promise<Backbone> {
  const { encoder } = loopInput(task, folder);
  const tensors = new Map<string, NamedTensor>(
    encoder.parameters('').map((spec) => {
      const values = new Float32Array(spec.shape.reduce((product, size) => product * size, 1));
      initialize(spec, values, () => 3 * random.normal());
      return [spec.name, { shape: spec.shape, values }];
    }),
  );
  const tokenizer = trainWordPiece(task.train, { vocabularySize: 200, lowercase: true });
  const files = {
    'model.safetensors': encodeSafetensors(tensors, undefined, { floats }),
    'tokenizer.json': JSON.stringify(tokenizer),
  };
  const directory = writeCheckpoint(join(folder, floats), { config: encoder.config, files });
  return readBackbone({ name: 'owner/tiny', directory });
}

async function train(backbone: Backbone, tuning: Tuning, changes: LoopChanges = {}): Promise<TrainedModel> {
  const frozen = frozenBackbone('1', tuning, task.head, backbone);
  return runTrainingLoop(
    loopInput(
      task,
      folder,
      { epochs: 3, learningRate: 0.02 },
      { pretrained: backbone.weights, ...(frozen && { frozenBackbone: frozen }), ...changes },
    ),
  );
}

/** Names of the backbone's weights that are not bit by bit what they were. */
function changedWeights({ parameters, weights }: TrainedModel, backbone: Backbone): string[] {
  return parameters.flatMap(({ name, part }) => {
    const before = backbone.weights.get(bareName(backbone.encoder, name));
    const after = weights.get(name);
    if (part === undefined || before === undefined || after === undefined) return [];
    return before.every((value, at) => Object.is(value, after[at])) ? [] : [bareName(backbone.encoder, name)];
  });
}

describe.each(['F32', 'F16'] as const)('adapters over a backbone stored as %s', (floats) => {
  it('change the layers that they are merged into and nothing else', async () => {
    const backbone = await aBackbone(floats);
    expect(backbone.stored !== undefined).toBe(floats === 'F32');
    const adapters = { rank: 2, targets: ['key', 'outer'] } as const;
    const trained = await train(backbone, { adapters }, { dropout: 0.1 });
    expect(changedWeights(trained, backbone)).toEqual(
      [0, 1].flatMap((layer) => [
        `encoder.layer.${layer}.attention.self.key.weight`,
        `encoder.layer.${layer}.output.dense.weight`,
      ]),
    );
    expect([...trained.weights.keys()]).toEqual(task.head.parameters(backbone.encoder).map(({ name }) => name));
  });

  it('answer as they did in training once they are merged', async () => {
    const backbone = await aBackbone(floats);
    const trained = await train(backbone, { adapters: { rank: 4, alpha: 16 } });
    const { dev, encoder } = loopInput(task, folder);
    const expected = flatOutputs(trained.devOutputs);
    for (const fixed of [{ weights: trained.weights }, trained.fixed]) {
      const evaluator = await Evaluator.create(onnxExecutor(), task.head, encoder, fixed);
      const outputs = flatOutputs(await evaluator.outputs(dev, {}));
      for (const [at, value] of outputs.entries()) expect(value).toBeCloseTo(expected[at] ?? Number.NaN, 5);
      await evaluator.release();
    }
  });

  it('go on from a checkpoint, which holds only what learns, to the weights of a run without a stop', async () => {
    const backbone = await aBackbone(floats);
    const tuning: Tuning = { adapters: { rank: 2, dropout: 0.3 } };
    const whole = await train(backbone, tuning, { dropout: 0.1 });
    const stop = new AbortController();
    const progress = new ProgressReporter(() => {});
    let steps = 0;
    progress.stepped = () => {
      steps += 1;
      if (steps === 5) stop.abort(GOES_ON_LATER);
    };
    await failureOf('aborted', () => train(backbone, tuning, { dropout: 0.1, progress, signal: stop.signal }));
    const checkpoint = await readCheckpoint(join(folder, 'checkpoint.safetensors'));
    const names = [...(checkpoint?.tensors.keys() ?? [])];
    expect(names).toContain('first/bert.encoder.layer.1.attention.self.value.lora_B.weight');
    expect(names.filter((name) => !/lora_|classifier|pooler/.test(name))).toEqual([]);
    const resumed = await train(backbone, tuning, { dropout: 0.1 });
    expect(new Map(resumed.weights)).toEqual(new Map(whole.weights));
    expect(resumed.stats.metrics.training).toEqual(whole.stats.metrics.training);
  });
});

describe('a backbone that is frozen in part', () => {
  it.each([
    ['embeddings', [0, 1]],
    [1, [1]],
    [2, []],
  ] as const)('keeps what freeze: %s names, bit by bit, and trains the rest', async (freeze, learning) => {
    const backbone = await aBackbone();
    const changed = changedWeights(await train(backbone, { freeze }), backbone);
    const layers = new Set(changed.map((name) => /layer\.(\d)/.exec(name)?.[1] ?? 'embeddings'));
    expect([...layers]).toEqual(learning.map(String));
    for (const layer of learning) {
      expect(changed.filter((name) => name.includes(`layer.${layer}.`))).toHaveLength(16);
    }
  });

  it('has no adapters in the layers that freeze counts', async () => {
    const backbone = await aBackbone();
    const trained = await train(backbone, { adapters: {}, freeze: 1 });
    expect(changedWeights(trained, backbone)).toEqual([
      'encoder.layer.1.attention.self.query.weight',
      'encoder.layer.1.attention.self.value.weight',
    ]);
  });

  it('is needed less memory for, as the estimate knows', async () => {
    const backbone = await aBackbone();
    const [whole = 0, upper = 0, adapted = 0] = [{}, { freeze: 1 }, { adapters: {} }].map((tuning: Tuning) => {
      const frozen = frozenBackbone('1', tuning, task.head, backbone);
      const limits = { batchSize: 8, maxTokens: 16, augment: false };
      const model_config = {
        name: 'a',
        type: 'multiclass-text-classification',
        family: 'Papaya',
        size: 'mini',
      } as const;
      return estimateMemory(task, { model_config }, limits, backbone.encoder, frozen).weights;
    });
    expect(upper).toBeLessThan(whole);
    expect(adapted).toBeLessThan(upper);
  });

  it('leaves its file as it is', async () => {
    const backbone = await aBackbone();
    const file = join(backbone.source.directory, 'model.safetensors');
    const before = await readFile(file);
    await train(backbone, { adapters: {} });
    expect((await readFile(file)).equals(before)).toBe(true);
  });
});

describe('what can not be frozen', () => {
  it.each<[Tuning, string]>([
    [{ adapters: {} }, 'name a backbone'],
    [{ freeze: 'embeddings' }, 'name a backbone'],
  ])('is refused without a backbone: %j', (tuning, advice) => {
    const start = () => frozenBackbone('17', tuning, task.head, undefined);
    expect(start).toThrow(TrainingError);
    expect(start).toThrow(/training job 17: .*random weights/);
    expect(start).toThrow(advice);
  });

  it.each<[Tuning, string]>([
    [{ freeze: 3 }, 'the backbone has 2 layers'],
    [{ freeze: 2, adapters: {} }, 'leaves no layer for the adapters'],
  ])('is refused where the backbone has too few layers: %j', async (tuning, reason) => {
    const backbone = await aBackbone();
    expect(() => frozenBackbone('17', tuning, task.head, backbone)).toThrow(reason);
  });
});
