import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { TextModel } from '../../src/inference/text-model.js';
import { decodeSafetensors, encodeByteRows, readModelReport } from '../../src/models/index.js';
import { readBackbone } from '../../src/training/backbone.js';
import { runTraining } from '../../src/training/run-training.js';
import type { TrainingSpec } from '../../src/training/training-run.js';
import { anArchive } from '../support/archive-builder.js';
import {
  bertConfig,
  bertTensors,
  type CheckpointParts,
  tokenizerFiles,
  VOCABULARY,
  vocabularyText,
  writeCheckpoint,
} from '../support/checkpoint-builder.js';
import { failureOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

function read(parts: CheckpointParts = {}) {
  const directory = writeCheckpoint(temporaryDirectory(), parts);
  return readBackbone({ name: 'owner/tiny', directory });
}

describe('a backbone', () => {
  it('is read with its weights, its geometry and its tokenizer', async () => {
    const { encoder, weights, tokenizer, lowercase, maxTokens } = await read();
    expect(encoder).toMatchObject({ width: 8, layers: 2, vocabularySize: VOCABULARY });
    expect(weights.size).toBe(bertTensors.size);
    expect(tokenizer.tokenizer.encode('The lamp').ids).toHaveLength(4);
    expect(lowercase).toBe(true);
    expect(maxTokens).toBe(bertConfig.max_position_embeddings);
  });

  it('reads bfloat16 weights', async () => {
    const bytes = bfloat16File();
    const { weights } = await read({ files: { 'model.safetensors': bytes } });
    for (const [name, { values }] of bertTensors) {
      for (const [at, value] of values.entries()) {
        // 8 bits of mantissa, cut off.
        expect(Math.abs((weights.get(name)?.[at] ?? 0) - value)).toBeLessThanOrEqual(Math.abs(value) / 128);
      }
    }
  });

  it('reads 8-bit weights', async () => {
    const bytes = encodeByteRows(bertTensors);
    const { weights } = await read({ files: { 'model.safetensors': bytes } });
    for (const [name, { values }] of bertTensors) {
      const largest = Math.max(...values.map(Math.abs));
      for (const [at, value] of values.entries()) {
        expect(Math.abs((weights.get(name)?.[at] ?? 9) - value)).toBeLessThanOrEqual(largest / 250);
      }
    }
  });

  it('gets the same tokenizer from a vocab.txt', async () => {
    const files = { 'tokenizer.json': undefined, 'vocab.txt': vocabularyText };
    const old = (await read({ files })).tokenizer.tokenizer;
    const current = (await read()).tokenizer.tokenizer;
    for (const text of ['The lamp is GREAT!', 'unheard-of', '']) {
      expect(old.encode(text)).toEqual(current.encode(text));
    }
  });

  it('tells upper from lower case if its tokenizer does', async () => {
    const config = JSON.stringify({ do_lower_case: false });
    const files = {
      'tokenizer.json': undefined,
      'vocab.txt': vocabularyText,
      'tokenizer_config.json': config,
    };
    expect((await read({ files })).lowercase).toBe(false);
  });

  it.each([
    [7, 7],
    [100, 12],
    [1e30, 12],
  ])('reads no more tokens than it was trained on: with model_max_length %d, %d', async (length, tokens) => {
    const files = { 'tokenizer_config.json': JSON.stringify({ model_max_length: length }) };
    expect((await read({ files })).maxTokens).toBe(tokens);
  });

  it('drops the lengths that a stored tokenizer pads and truncates to', async () => {
    const json = JSON.parse(tokenizerFiles['tokenizer.json'] ?? '');
    const stored = { ...json, truncation: { max_length: 8 }, padding: { strategy: { Fixed: 8 } } };
    const { tokenizer } = await read({ files: { 'tokenizer.json': JSON.stringify(stored) } });
    expect(tokenizer.json).toMatchObject({ truncation: null, padding: null });
  });

  it.each<[string, CheckpointParts, string]>([
    ['config.json', { files: { 'config.json': undefined } }, 'the backbone owner/tiny lacks it'],
    ['config.json', { files: { 'config.json': '{' } }, 'JSON'],
    ['model.safetensors', { files: { 'model.safetensors': undefined } }, 'weights in other formats are not read'],
    ['model.safetensors', { files: { 'model.safetensors': 'x' } }, 'not a safetensors file'],
    ['tokenizer.json or vocab.txt', { files: { 'tokenizer.json': undefined } }, 'lacks it'],
    ['vocab.txt', { files: { 'tokenizer.json': undefined, 'vocab.txt': 'a\nb\n' } }, 'it lacks [PAD], [UNK]'],
    ['tokenizer.json', { files: { 'tokenizer.json': '{"model":{}}' } }, 'tokenizer.json'],
    [
      'tokenizer.json',
      { config: { ...bertConfig, vocab_size: 9 }, tensors: withWords(9) },
      `has ids up to ${VOCABULARY - 1}, but config.json has a vocab_size of 9`,
    ],
  ])('is refused with the file named: %s, %j', async (file, parts, reason) => {
    const error = await failureOf('model_folder', () => read(parts));
    expect(error.message).toContain(file);
    expect(error.message).toContain(reason);
  });
});

describe('training from a backbone', () => {
  it('starts from its weights and keeps its geometry, tokenizer and length', async () => {
    const { directory, backbone } = await train({ learning_rate: 1e-12, num_epochs: 1 });
    const file = join(directory, 'model.safetensors');
    const { tensors } = decodeSafetensors(readFileSync(file), file);
    for (const [name, { values }] of bertTensors) {
      if (!name.startsWith('pooler.')) expect(tensors.get(`bert.${name}`)?.values).toEqual(values);
    }
    const { config, training } = await readModelReport(directory);
    expect(config).toMatchObject({ model_type: 'bert', hidden_size: 8, num_hidden_layers: 2 });
    expect(config.orchard).toMatchObject({ size: 'mini', backbone: 'owner/tiny', max_tokens: 12 });
    expect(training.backbone).toEqual({ name: 'owner/tiny', revision: 'abc' });
    expect(training.warnings.map(({ kind }) => kind)).not.toContain('no_backbone');
    const json = (path: string) => JSON.parse(readFileSync(path, 'utf8'));
    expect(json(join(directory, 'tokenizer.json')).model).toEqual(json(join(backbone, 'tokenizer.json')).model);
    expect(json(join(directory, 'tokenizer_config.json')).model_max_length).toBe(12);
  });

  it('makes a model that answers', async () => {
    const { directory } = await train({ num_epochs: 1 });
    const model = await TextModel.load(directory, 1);
    const { results } = await model.predict(['the lamp is great']);
    expect(results[0]).toMatchObject({ labels: expect.arrayContaining(['yes', 'no']) });
    await model.release();
  });

  it('has other defaults than one from random weights', async () => {
    const from = (await trainingOf(await train({ num_epochs: 1 }))).hyperparameters;
    const scratch = (await trainingOf(await train({ num_epochs: 1, use_pretrained: false }))).hyperparameters;
    expect(from.learningRate).toBeLessThan(Number(scratch.learningRate));
    expect([from.maxTokens, scratch.maxTokens]).toEqual([12, 256]);
  });

  it('warns if preprocessing asks for another case than the backbone reads', async () => {
    const { warnings } = await trainingOf(await train({ num_epochs: 1, preprocessing: { lowercase: false } }));
    const [warning] = warnings.filter(({ kind }) => kind === 'backbone_lowercase');
    expect(warning?.message).toContain('owner/tiny lowercases texts');
  });

  it('starts from random weights if use_pretrained is false', async () => {
    const { directory } = await train({ num_epochs: 1, use_pretrained: false });
    const { config, training } = await readModelReport(directory);
    expect(config.hidden_size).toBe(256);
    expect(config.orchard.backbone).toBeUndefined();
    expect(training.backbone).toBeUndefined();
  });
});

async function train(training_config: TrainingSpec['training_config']) {
  const root = temporaryDirectory();
  const backbone = writeCheckpoint(join(root, 'tiny'));
  const directory = join(root, 'model');
  mkdirSync(directory);
  const rows = ['the lamp is great', 'it works', 'the room is awful', 'it broke'].map(
    (text, at) => [text, at < 2 ? 1 : 0] as const,
  );
  const archive = anArchive().withRows(rows).withDevRows(rows).writeTo(join(root, 'archive'));
  await runTraining(
    {
      id: 'job',
      dataset: { url: pathToFileURL(archive).href },
      model_config: { name: 'm', type: 'binary-text-classification', family: 'Papaya', size: 'mini' },
      training_config,
      directory,
      allowFileUrls: true,
      threads: 1,
      seed: 1,
      tuning: {},
      backbone: { name: 'owner/tiny', revision: 'abc', directory: backbone },
    },
    { signal: new AbortController().signal, onEvent: () => undefined },
  );
  return { directory, backbone };
}

const trainingOf = async ({ directory }: { readonly directory: string }) => (await readModelReport(directory)).training;

/** The checkpoint's tensors with fewer words. */
function withWords(count: number): typeof bertTensors {
  const name = 'embeddings.word_embeddings.weight';
  const values = bertTensors.get(name)?.values.slice(0, 8 * count) ?? new Float32Array();
  return new Map([...bertTensors, [name, { shape: [count, 8], values }]]);
}

/** The checkpoint's weights with the upper half of each float32, as safetensors' BF16 has it. */
function bfloat16File(): Uint8Array {
  const header: Record<string, unknown> = {};
  const parts: Buffer[] = [];
  let end = 0;
  for (const [name, { shape, values }] of bertTensors) {
    const halves = Uint16Array.from(new Uint32Array(values.slice().buffer), (bits) => bits >>> 16);
    header[name] = { dtype: 'BF16', shape, data_offsets: [end, end + halves.byteLength] };
    end += halves.byteLength;
    parts.push(Buffer.from(halves.buffer));
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, ...parts]);
}
