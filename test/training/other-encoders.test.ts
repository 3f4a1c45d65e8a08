import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { encoderTypes, initialize, readEncoder } from '../../src/encoder/index.js';
import { createSequenceArchive } from '../../src/families/index.js';
import { TextModel } from '../../src/inference/text-model.js';
import {
  decodeSafetensors,
  ONNX_FILE,
  QUANTIZED_ONNX_FILE,
  readModelReport,
  WEIGHTS_FILE,
} from '../../src/models/index.js';
import { Random } from '../../src/system/numbers.js';
import { runTraining } from '../../src/training/run-training.js';
import type { TrainingSpec } from '../../src/training/training-run.js';
import { smallConfigs } from '../encoder/small-configs.js';
import { anArchive } from '../support/archive-builder.js';
import { VOCABULARY, writeCheckpoint } from '../support/checkpoint-builder.js';
import { resultOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** From a backbone of each architecture to a model folder of the same, and to its answers. */

/** Room for the longest text below, wherever positions count from. */
const POSITIONS = 16;
/** Wide enough that a few epochs teach it something. */
const DEVIATION = 0.3;

/** A checkpoint of random weights. @returns its folder */
function backboneOf(type: string, root: string): string {
  const fields = { vocab_size: VOCABULARY, max_position_embeddings: POSITIONS, initializer_range: DEVIATION };
  const encoder = readEncoder({ ...smallConfigs[type], model_type: type, ...fields }, 'config.json');
  const random = Random.fromSeed(11);
  const tensors = new Map(
    encoder.parameters(encoder.prefix).map((spec) => {
      const values = new Float32Array(spec.shape.reduce((product, size) => product * size, 1));
      initialize(spec, values, () => random.normal());
      return [spec.name, { shape: spec.shape, values }];
    }),
  );
  return writeCheckpoint(join(root, 'tiny'), { config: encoder.config, tensors });
}

const good = ['the lamp is great', 'it works', 'great room and great lamp', 'the room works and is great'];
const bad = ['the lamp is awful', 'it broke', 'awful room and awful lamp', 'the room broke and is awful'];
const rows = Array.from({ length: 5 }, () => [...good, ...bad]).flat();

async function train(
  type: string,
  model: Pick<TrainingSpec['model_config'], 'type' | 'family'>,
  archiveIn: (root: string) => Promise<string> | string,
): Promise<string> {
  const root = temporaryDirectory();
  const directory = join(root, 'model');
  mkdirSync(directory);
  const spec: TrainingSpec = {
    id: 'job',
    dataset: { url: pathToFileURL(await archiveIn(root)).href },
    model_config: { name: 'm', size: 'mini', ...model },
    training_config: { num_epochs: 50, learning_rate: 1e-2, batch_size: 8 },
    directory,
    allowFileUrls: true,
    threads: 1,
    seed: 1,
    tuning: { tokenDropout: 0 },
    backbone: { name: 'owner/tiny', directory: backboneOf(type, root) },
  };
  await runTraining(spec, { signal: new AbortController().signal, onEvent: () => undefined });
  return directory;
}

const classifier = (type: string) =>
  train(type, { type: 'binary-text-classification', family: 'Papaya' }, (root) => {
    const labelled = rows.map((text) => [text, good.includes(text) ? 1 : 0] as const);
    return anArchive().withRows(labelled).withDevRows(labelled).writeTo(join(root, 'archive'));
  });

/** Every word that tells good from bad is an entity. */
const tagger = (type: string) =>
  train(type, { type: 'named-entity-recognition', family: 'Grapefruit' }, async (root) => {
    const archive = join(root, 'archive.zip');
    const sentences = rows.map((text) => {
      const words = text.split(' ');
      return { words, tags: words.map((word) => (/great|works|awful|broke/u.test(word) ? 'B-JUDGED' : 'O')) };
    });
    await resultOf(createSequenceArchive({ name: 'judged', rows: sentences, devRows: sentences }, archive));
    return archive;
  });

describe.each(encoderTypes())('a model from a backbone of type %s', (type) => {
  it('keeps its architecture, and answers', async () => {
    const directory = await classifier(type);
    const { config, training } = await readModelReport(directory);
    const encoder = readEncoder(config, 'config.json');
    expect(encoder.modelType).toBe(type);
    expect(config.architectures).toEqual(['MeanPoolingClassifier']);
    expect(config.orchard.max_tokens).toBe(encoder.maxTokens);
    expect(training.parts?.encoder.accuracy).toBe(1);

    const { tensors } = decodeSafetensors(readFileSync(join(directory, WEIGHTS_FILE)), WEIGHTS_FILE);
    const names = encoder.parameters(encoder.prefix).map(({ name }) => name);
    const [guard] = encoder.textHead.inner;
    expect([...tensors.keys()]).toEqual([...names, 'classifier.weight', 'classifier.bias', guard?.name]);
    expect(tensors.get(guard?.name ?? '')?.shape).toEqual([1]);
    for (const file of [ONNX_FILE, QUANTIZED_ONNX_FILE]) expect(existsSync(join(directory, file))).toBe(true);

    const model = await TextModel.load(directory, 1);
    const { results } = await model.predict([...good, ...bad]);
    const [best] = config.orchard.labels.slice(1);
    expect(results.map((result) => result !== undefined && 'labels' in result && result.labels[0] === best)).toEqual([
      ...good.map(() => true),
      ...bad.map(() => false),
    ]);
    await model.release();
  });
});

describe.each(['distilbert', 'albert', 'roberta'])('a tagger from a backbone of type %s', (type) => {
  it("is transformers' own token classifier", async () => {
    const directory = await tagger(type);
    const { config, training } = await readModelReport(directory);
    const encoder = readEncoder(config, 'config.json');
    expect(config.architectures).toEqual([encoder.tokenHead.className]);
    expect(training.parts?.encoder.f1).toBe(1);
    const { tensors } = decodeSafetensors(readFileSync(join(directory, WEIGHTS_FILE)), WEIGHTS_FILE);
    const specs = [
      ...encoder.parameters(encoder.prefix),
      ...encoder.tokenHead.parameters(config.orchard.labels.length),
    ];
    expect([...tensors].map(([name, { shape }]) => [name, shape])).toEqual(
      specs.map(({ name, shape }) => [name, shape]),
    );
  });
});
