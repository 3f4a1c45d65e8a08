import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { exportModel, loadModel, train } from '../../src/api/index.js';
import type { Rows } from '../../src/datasets/index.js';
import { encoderTypes } from '../../src/encoder/index.js';
import { decodeWeights } from '../../src/models/index.js';
import { fakeHub } from '../models/fake-hub.js';
import { compareCheckpoint, pipelineAnswersSchema } from '../support/checkpoint-oracle.js';
import { errorOf, resultOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { widenedCheckpoint } from '../support/widened-checkpoint.js';

/**
 * Fine-tuned checkpoints of every architecture, with both heads, against what transformers' pipelines answered. Written by
 * `python3 bench/interop/checkpoints.py record test/api/recorded-checkpoints`.
 */

const recorded = fileURLToPath(new URL('recorded-checkpoints', import.meta.url));
const names = readdirSync(recorded);

const kept = mkdtempSync(join(tmpdir(), 'orchard-test-'));
process.env.ORCHARD_MODELS_DIRECTORY = kept;
afterAll(() => rmSync(kept, { recursive: true, force: true }));

const jsonOf = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));

describe.each(names)('the checkpoint %s', (name) => {
  const folder = join(recorded, name);
  const theirs = pipelineAnswersSchema.parse(jsonOf(join(folder, 'expected.json')));

  it(`gives the answers of ${theirs.writtenBy}`, async () => {
    const { scores, compared, others } = await compareCheckpoint(folder, theirs);
    expect(others).toEqual([]);
    expect(compared).toBeGreaterThan(5);
    expect(scores).toBeLessThan(1e-5);
  });

  const { model_type } = Object(jsonOf(join(folder, 'config.json')));
  it.runIf(model_type === 'bert')('gives them by WebAssembly, too', async () => {
    const wide = widenedCheckpoint(folder, join(temporaryDirectory(), 'wide'));
    const { scores, compared, others } = await compareCheckpoint(wide, theirs, { runtime: 'wasm' });
    expect(others).toEqual([]);
    expect(compared).toBeGreaterThan(5);
    expect(scores).toBeLessThan(1e-5);
  });
  it.runIf(model_type !== 'bert')('is refused by WebAssembly with the architecture that it can run', async () => {
    const { code, message } = await errorOf(loadModel(folder, { runtime: 'wasm', isolation: 'inline' }));
    expect(code).toBe('model_folder');
    expect(message).toMatch(/config\.json: model_type: .*bert/);
  });
});

it.each(['text', 'tokens'])('there is a recording of every model_type that labels %s', (head) => {
  const recordings = names.filter((name) => name.endsWith(`-${head}`));
  const types = recordings.map((name) => Object(jsonOf(join(recorded, name, 'config.json'))).model_type);
  expect([...new Set(types)].sort()).toEqual(encoderTypes().sort());
});

/** A copy of a recording, with some fields of its config.json changed. */
function copyOf(name: string, fields: object = {}): string {
  const folder = join(temporaryDirectory(), 'copy');
  cpSync(join(recorded, name), folder, { recursive: true });
  const config = { ...Object(jsonOf(join(folder, 'config.json'))), ...fields };
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  return folder;
}

const answerTo = async (folder: string, text = 'the plot was fun') => {
  await using model = await resultOf(loadModel(folder, { isolation: 'inline' }));
  return resultOf(model.predict(text));
};

describe('a converted checkpoint', () => {
  it('is kept, and converted again when the checkpoint changes', async () => {
    const folder = copyOf('bert-text');
    const before = readdirSync(join(kept, '0.1.0', 'checkpoints')).length;
    await answerTo(folder);
    await answerTo(folder);
    expect(readdirSync(join(kept, '0.1.0', 'checkpoints')).length).toBe(before + 1);
    cpSync(join(recorded, 'bert-multilabel'), folder, { recursive: true });
    const { label } = Object(await answerTo(folder));
    const expected = Object(await answerTo(join(recorded, 'bert-multilabel')));
    expect(label).toBe(expected.label);
    expect(readdirSync(join(kept, '0.1.0', 'checkpoints')).length).toBe(before + 2);
  });
});

it('a checkpoint that labels tokens says that its answers have no explanations', async () => {
  await using model = await resultOf(loadModel(join(recorded, 'bert-tokens'), { isolation: 'inline' }));
  const { code, message } = await errorOf(model.explain('in London'));
  expect([code, message]).toEqual(['validation', expect.stringContaining('a checkpoint of transformers that labels')]);
});

const POINTER = 'version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 17692\n';

/** Changes or, by null, deletes a file. */
const withFile = (folder: string, name: string, content: string | Uint8Array | null) => {
  if (content === null) rmSync(join(folder, name));
  else writeFileSync(join(folder, name), content);
  return folder;
};

function withNaN(name: string): Uint8Array {
  const bytes = readFileSync(join(recorded, name, 'model.safetensors'));
  bytes.writeFloatLE(Number.NaN, bytes.length - 4);
  return bytes;
}

const weightsFile = 'model.safetensors';

describe('a checkpoint that cannot be asked', () => {
  it.each<[string, () => string, string[]]>([
    ['a regression', () => copyOf('bert-text', { problem_type: 'regression' }), ['regression', 'gives a number']],
    [
      'an architecture that is not computed',
      () => copyOf('bert-text', { model_type: 'gpt2', architectures: ['GPT2ForSequenceClassification'] }),
      ['config.json', 'model_type "gpt2"', 'roberta'],
    ],
    ['an encoder alone', () => copyOf('bert-text', { architectures: ['BertModel'] }), ['no labels', 'train', 'embed']],
    [
      'a Git LFS pointer',
      () => withFile(copyOf('bert-text'), weightsFile, POINTER),
      [weightsFile, 'Git LFS pointer', 'git lfs pull'],
    ],
    [
      'a tokenizer that is a Git LFS pointer',
      () => withFile(copyOf('bert-text'), 'tokenizer.json', POINTER),
      ['tokenizer.json', 'Git LFS pointer'],
    ],
    ['weights with NaN', () => withFile(copyOf('bert-text'), weightsFile, withNaN('bert-text')), ['NaN', 'diverged']],
    [
      'a missing tokenizer',
      () => withFile(copyOf('bert-text'), 'tokenizer.json', null),
      ['tokenizer.json', 'lacks it', 'AutoTokenizer'],
    ],
    [
      'a pickle',
      () => withFile(withFile(copyOf('bert-text'), weightsFile, null), 'pytorch_model.bin', 'x'),
      ['pytorch_model.bin', 'pickle', 'save_pretrained'],
    ],
    ['no weights', () => withFile(copyOf('bert-text'), weightsFile, null), [weightsFile, 'save_pretrained']],
    [
      'labels that the head has no outputs for',
      () => copyOf('bert-text', { id2label: { 0: 'a', 1: 'b' } }),
      ['tensor classifier.weight is [3, 8]', '[2, 8]'],
    ],
    [
      'a missing shard',
      () => withFile(copyOf('mpnet-shards'), 'model-00002-of-00002.safetensors', null),
      ['model-00002-of-00002.safetensors', 'one of 2 files', 'missing'],
    ],
  ])('is refused by name: %s', async (_, folder, told) => {
    const { code, message } = await errorOf(loadModel(folder()));
    expect(code).toBe('model_folder');
    for (const part of told) expect(message).toContain(part);
  });
});

it('options of checkpoints are refused for other model folders', async () => {
  await using converted = await resultOf(loadModel(join(recorded, 'bert-tokens'), { isolation: 'inline' }));
  const { code, message } = await errorOf(loadModel(converted.directory, { aggregation: 'simple' }));
  expect(code).toBe('validation');
  expect(message).toContain('aggregation');
});

describe('a model of the Hub', () => {
  const files = {
    'config.json': readFileSync(join(recorded, 'bert-text', 'config.json'), 'utf8'),
    'model.safetensors': 'damaged',
    'tokenizer.json': readFileSync(join(recorded, 'bert-text', 'tokenizer.json'), 'utf8'),
    'pytorch_model.bin': 'a pickle',
    'tf_model.h5': 'for TensorFlow',
    'onnx/model.onnx': 'a graph',
  };

  const fetchedOf = async (published: Readonly<Record<string, string>>) => {
    const hub = await fakeHub({ 'owner/tiny': published });
    process.env.HF_ENDPOINT = hub.endpoint;
    process.env.HF_HUB_CACHE = temporaryDirectory();
    const { message } = await errorOf(loadModel('owner/tiny'));
    const names = hub.visits.flatMap(({ path }) => /\/resolve\/[^/]+\/(.+)$/u.exec(path)?.[1] ?? []);
    return { message, names: [...new Set(names)].sort() };
  };

  it('that is a checkpoint is loaded without weights in other formats', async () => {
    const { message, names } = await fetchedOf(files);
    expect(names).toEqual(['config.json', 'model.safetensors', 'tokenizer.json']);
    expect(message).toContain('not a safetensors file');
  });

  it('without safetensors is refused before a pickle is downloaded', async () => {
    const { 'model.safetensors': _, ...others } = files;
    const { message, names } = await fetchedOf(others);
    expect(names).toEqual(['config.json', 'onnx/model.onnx', 'tokenizer.json']);
    expect(message).toMatch(/lacks it; weights in other formats are not read: .*save_pretrained/);
  });

  it('that Orchard wrote is loaded as a whole', async () => {
    const { names } = await fetchedOf({ ...files, 'config.json': '{"orchard":{}}' });
    expect(names).toEqual(Object.keys(files).sort());
  });
});

describe('8-bit weights', () => {
  const quantized = (name: string) => loadModel(join(recorded, name), { weights: 'int8', isolation: 'inline' });

  it('answer nearly as float32 does, and take the place of it', async () => {
    await using model = await resultOf(quantized('albert-text'));
    expect(readdirSync(join(model.directory, 'onnx'))).toEqual(['model_quantized.onnx']);
    const theirs = pipelineAnswersSchema.parse(jsonOf(join(recorded, 'albert-text', 'expected.json')));
    const answers = await resultOf(model.predict(theirs.texts));
    for (const [at, { scores }] of answers.map((answer) => Object(answer)).entries()) {
      for (const { label, score } of scores) {
        const exact = theirs.labels?.[at]?.find((each) => each.label === label)?.score ?? Number.NaN;
        expect(Math.abs(score - exact)).toBeLessThan(0.05);
      }
    }
  });

  it('are refused where answers would change', async () => {
    const { code, message } = await errorOf(quantized('distilbert-tokens'));
    expect(code).toBe('model_folder');
    expect(message).toMatch(/with 8-bit weights, a score of a test text changes by 0\.\d+/);
  });
});

/** Rows that a text's words decide. */
const verdicts = { negative: 'unbelievable', neutral: 'the plot', positive: 'funny' };
const labelled = Array.from({ length: 30 }, (_, at) => {
  const [label, words] = Object.entries(verdicts)[at % 3] ?? ['', ''];
  return { text: `${words} ${'again '.repeat(at % 4)}`.trim(), label };
});

const sentences = Array.from({ length: 20 }, (_, at) => ({
  tokens: ['Ada', 'Lovelace', 'wrote', 'to', at % 2 === 0 ? 'London' : 'Tokyo'],
  tags: ['B-PER', 'I-PER', 'O', 'O', 'B-LOC'],
}));

/** Trains on a recording for one step so small that the answers stay those of the checkpoint. */
const continued = (base: string, rows: Rows) =>
  resultOf(
    train({
      ...{
        rows,
        base: join(recorded, base),
        epochs: 1,
        learningRate: 1e-9,
        output: join(temporaryDirectory(), 'model'),
      },
      ...{ tuning: { quantize: false }, isolation: 'inline' },
    }),
  );

describe('training from a checkpoint', () => {
  it.each(['bert-text', 'roberta-text', 'deberta-v3-text', 'modernbert-text'])(
    'goes on with the head of %s where the labels are the same',
    async (name) => {
      await using model = await continued(name, labelled);
      expect(model.training.method).toBe('fine-tuning');
      const config = Object(jsonOf(join(model.directory, 'config.json')));
      const before = Object(jsonOf(join(recorded, name, 'config.json')));
      expect([config.architectures, config.id2label]).toEqual([before.architectures, before.id2label]);
      const weights = weightsOf(model.directory);
      for (const [tensor, values] of weightsOf(join(recorded, name))) {
        expect(weights.get(tensor), tensor).toBeDefined();
        expect(largestDifference(values, weights.get(tensor) ?? [])).toBeLessThan(1e-6);
      }
    },
  );

  it('goes on with the head of a tagger', async () => {
    await using model = await continued('bert-tokens', sentences);
    const config = Object(jsonOf(join(model.directory, 'config.json')));
    expect(config.architectures).toEqual(['BertForTokenClassification']);
    const own = weightsOf(join(recorded, 'bert-tokens')).get('classifier.weight') ?? [];
    expect(largestDifference(own, weightsOf(model.directory).get('classifier.weight') ?? [])).toBeLessThan(1e-6);
  });

  it('starts a head of its own where they are others', async () => {
    const others = labelled.map(({ text, label }) => ({ text, label: `is ${label}` }));
    await using model = await continued('bert-text', others);
    const config = Object(jsonOf(join(model.directory, 'config.json')));
    expect(config.orchard.pooling).toBe('mean');
    expect(model.labels).toContain('is positive');
  });
});

describe('the export of a checkpoint', () => {
  it.each(['electra-text', 'distilbert-bfloat16', 'mpnet-shards'])('is %s as the class that it was', async (name) => {
    const output = join(temporaryDirectory(), 'exported');
    await resultOf(exportModel(join(recorded, name), output));
    const theirs = pipelineAnswersSchema.parse(jsonOf(join(recorded, name, 'expected.json')));
    const { scores, others } = await compareCheckpoint(output, theirs, { only: 'first' });
    expect(others).toEqual([]);
    expect(scores).toBeLessThan(1e-5);
    expect(Object(jsonOf(join(output, 'config.json'))).architectures).toEqual([theirs.class]);
    expect(weightsOf(output).size).toBeGreaterThan(10);
  });
});

function weightsOf(folder: string): Map<string, Float32Array> {
  const file = join(folder, 'model.safetensors');
  return new Map([...decodeWeights(readFileSync(file), file)].map(([name, { values }]) => [name, values]));
}

function largestDifference(one: ArrayLike<number>, other: ArrayLike<number>): number {
  if (one.length !== other.length) return Number.POSITIVE_INFINITY;
  return Math.max(...Array.from(one, (value, at) => Math.abs(value - (other[at] ?? Number.NaN))));
}
