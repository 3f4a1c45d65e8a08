import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createSequenceArchive } from '../../src/families/index.js';
import { TextModel } from '../../src/inference/text-model.js';
import { CONFIG_FILE, readModelReport, WEIGHTS_FILE } from '../../src/models/index.js';
import { Random } from '../../src/system/numbers.js';
import { runTraining } from '../../src/training/run-training.js';
import type { TrainingSpec } from '../../src/training/training-run.js';
import {
  bertConfig,
  bertTensors,
  type CheckpointParts,
  KNOWN_WORDS,
  vocabularyText,
  writeCheckpoint,
} from '../support/checkpoint-builder.js';
import { resultOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/**
 * Encoders whose vocabulary has no capitals, and labels that hang on nothing else: from training to answers.
 */

const random = Random.fromSeed(7);

/**
 * Sentences whose capitalised words are entities, whatever the word; some are longer than the encoder's 12
 * tokens.
 */
const sentences = Array.from({ length: 60 }, (_, at) => {
  const length = 3 + (at % 14);
  const words = Array.from({ length }, () => {
    const word = KNOWN_WORDS[random.integer(KNOWN_WORDS.length)] ?? '';
    return random.uniform() < 0.3 ? `${word[0]?.toUpperCase()}${word.slice(1)}` : word;
  });
  return { words, tags: words.map((word) => (/^[A-Z]/.test(word) ? 'B-CAP' : 'O')) };
});
const rows = sentences.slice(10);
const unseen = sentences.slice(0, 10);

const casesCount: TrainingSpec['training_config'] = { preprocessing: { lowercase: false } };

async function train(
  training_config: TrainingSpec['training_config'],
  backbone: CheckpointParts = {},
): Promise<string> {
  const root = temporaryDirectory();
  const directory = join(root, 'model');
  mkdirSync(directory);
  const archive = join(root, 'archive.zip');
  await resultOf(createSequenceArchive({ name: 'capitals', rows, devRows: rows.slice(0, 20) }, archive));
  const spec: TrainingSpec = {
    id: 'job',
    dataset: { url: pathToFileURL(archive).href },
    model_config: { name: 'm', type: 'sequence-labeling', family: 'Grapefruit', size: 'mini' },
    training_config: { num_epochs: 1, ...training_config },
    directory,
    allowFileUrls: true,
    threads: 1,
    seed: 1,
    tuning: { tokenDropout: 0 },
    backbone: { name: 'owner/tiny', directory: writeCheckpoint(join(root, 'tiny'), backbone) },
  };
  const options = { signal: new AbortController().signal, onEvent: () => undefined };
  await runTraining(spec, options);
  return directory;
}

/** What the encoder alone says of texts, window by window. */
async function outputsOf(directory: string, texts: readonly string[]) {
  const model = await TextModel.load(directory, 1);
  const outputs = await model.encode(texts);
  await model.release();
  return outputs;
}

describe('an encoder without capitals in its vocabulary', () => {
  it('learns labels that depend on capitals alone, and answers with them', async () => {
    const directory = await train({ ...casesCount, num_epochs: 40, learning_rate: 1e-2 });
    const { config, training } = await readModelReport(directory);
    expect(config.orchard.token_types).toBe('capitals');
    expect(training.parts?.encoder.f1).toBeGreaterThan(0.98);
    expect(training.warnings.map(({ kind }) => kind)).not.toContain('backbone_lowercase');

    const texts = unseen.map(({ words }) => words.join(' '));
    const windows = (await outputsOf(directory, texts)).flatMap((each, row) =>
      each.map((window) => ({ ...window, text: texts[row] ?? '' })),
    );
    expect(windows.length).toBeGreaterThan(texts.length);
    const begin = config.orchard.labels.indexOf('B-CAP');
    const outside = config.orchard.labels.indexOf('O');
    const width = config.orchard.labels.length;
    for (const { encoding, outputs, text } of windows) {
      for (const [token, source] of encoding.sequenceIds.entries()) {
        if (source !== 0) continue;
        const first = text[encoding.offsets?.[2 * token] ?? 0] ?? '';
        const logits = outputs.subarray(token * width, (token + 1) * width);
        const isEntity = (logits[begin] ?? 0) > (logits[outside] ?? 0);
        expect(isEntity).toBe(first !== first.toLowerCase());
      }
    }
  });

  it('reads texts as one token type from a folder that does not mention capitals', async () => {
    const directory = await train(casesCount);
    const texts = ['The LAMP is great', 'the lamp is great'];
    const [[cased] = [], [lower] = []] = await outputsOf(directory, texts);
    expect(cased?.outputs).not.toEqual(lower?.outputs);

    const file = join(directory, CONFIG_FILE);
    const { orchard, ...rest } = JSON.parse(readFileSync(file, 'utf8'));
    const { token_types: _, ...older } = orchard;
    writeFileSync(file, JSON.stringify({ ...rest, orchard: older }));
    const [[before] = [], [same] = []] = await outputsOf(directory, texts);
    expect(before?.outputs).toEqual(same?.outputs);
    expect(before?.outputs).toEqual(lower?.outputs);
  });

  const oneType = 'embeddings.token_type_embeddings.weight';
  it.each<[string, TrainingSpec['training_config'], CheckpointParts]>([
    ['texts are to be read in lower case, as by default', {}, {}],
    [
      'its vocabulary has them',
      casesCount,
      {
        files: {
          'tokenizer.json': undefined,
          'vocab.txt': vocabularyText,
          'tokenizer_config.json': JSON.stringify({ do_lower_case: false }),
        },
      },
    ],
    [
      'it has one token type',
      casesCount,
      {
        config: { ...bertConfig, type_vocab_size: 1 },
        tensors: new Map([
          ...bertTensors,
          [oneType, { shape: [1, 8], values: bertTensors.get(oneType)?.values.slice(0, 8) ?? new Float32Array() }],
        ]),
      },
    ],
  ])('gets no token types for capitals if %s', async (_, config, backbone) => {
    const directory = await train(config, backbone);
    expect(existsSync(join(directory, WEIGHTS_FILE))).toBe(true);
    expect((await readModelReport(directory)).config.orchard).not.toHaveProperty('token_types');
    const [[window] = []] = await outputsOf(directory, ['The LAMP is great']);
    expect([...(window?.encoding.typeIds ?? [])]).toEqual([0, 0, 0, 0, 0, 0]);
  });
});
