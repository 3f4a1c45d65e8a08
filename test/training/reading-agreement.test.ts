import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createSequenceArchive } from '../../src/families/index.js';
import { TextModel } from '../../src/inference/text-model.js';
import { readModelReport } from '../../src/models/index.js';
import { Random } from '../../src/system/numbers.js';
import { runTraining } from '../../src/training/run-training.js';
import type { TrainingSpec } from '../../src/training/training-run.js';
import { bertConfig, bertTensors, KNOWN_WORDS, writeCheckpoint } from '../support/checkpoint-builder.js';
import { someNumbers } from '../support/finite-differences.js';
import { resultOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** A text is read by the same rules where a model is judged and where it answers. */

/** So long that a quarter of a window is more than the 64 pieces that windows share by default. */
const POSITIONS = 512;
const TAGGED = 'lamp';

const random = Random.fromSeed(5);
const sentences = [40, 700, 900, 1300, 30, 60, 20, 600].map((length) => {
  const words = Array.from({ length }, () => KNOWN_WORDS[random.integer(KNOWN_WORDS.length)] ?? '');
  // Noise keeps the lexical expert from being right everywhere.
  const tags = words.map((word) => (word === TAGGED && random.uniform() < 0.8 ? 'B-THING' : 'O'));
  return { words, tags };
});
const [train, dev] = [sentences.slice(3), sentences.slice(0, 4)];

async function trained(): Promise<string> {
  const root = temporaryDirectory();
  const directory = join(root, 'model');
  mkdirSync(directory);
  const archive = join(root, 'archive.zip');
  await resultOf(createSequenceArchive({ name: 'long', rows: train, devRows: dev }, archive));
  const positions = [POSITIONS, bertConfig.hidden_size];
  const table = { shape: positions, values: someNumbers(POSITIONS * bertConfig.hidden_size, 0.4, 9) };
  const backbone = writeCheckpoint(join(root, 'long'), {
    config: { ...bertConfig, max_position_embeddings: POSITIONS },
    tensors: new Map([...bertTensors, ['embeddings.position_embeddings.weight', table]]),
  });
  const spec: TrainingSpec = {
    id: 'job',
    dataset: { url: pathToFileURL(archive).href },
    model_config: { name: 'm', type: 'sequence-labeling', family: 'Grapefruit', size: 'mini' },
    training_config: { num_epochs: 2, learning_rate: 1e-2 },
    directory,
    allowFileUrls: true,
    threads: 1,
    seed: 1,
    tuning: { tokenDropout: 0 },
    backbone: { name: 'owner/long', directory: backbone },
  };
  await runTraining(spec, { signal: new AbortController().signal, onEvent: () => undefined });
  return directory;
}

/** Words of a sentence that are entities, by the positions where they begin in its text. */
function trueStarts({ words, tags }: (typeof dev)[number]): number[] {
  let at = 0;
  return words.flatMap((word, position) => {
    const start = at;
    at += word.length + 1;
    return tags[position] === 'O' ? [] : [start];
  });
}

describe('a labelling model with windows of 512 tokens', () => {
  it('answers the dev sentences, span for span, with the F1 that it was judged by', async () => {
    const directory = await trained();
    const { config, training } = await readModelReport(directory);
    expect(config.orchard).toMatchObject({ max_tokens: POSITIONS, window_overlap: 64 });
    const model = await TextModel.load(directory, 1);
    const texts = dev.map(({ words }) => words.join(' '));
    const windows = (await model.encode(texts)).flat();
    const { results } = await model.predict(texts);
    await model.release();

    const lengths = windows.map(({ encoding }) => encoding.ids.length);
    // 700 words are 702 tokens: 512, then a window that ends with the text.
    expect(lengths).toEqual([42, 512, 512, 512, 512, 512, 512, 512]);
    let found = 0;
    let right = 0;
    for (const [row, sentence] of dev.entries()) {
      const truth = new Set(trueStarts(sentence));
      const starts = results[row]?.token_start_positions ?? [];
      found += starts.length;
      right += starts.filter((start) => truth.has(start)).length;
    }
    const total = dev.reduce((sum, sentence) => sum + trueStarts(sentence).length, 0);
    expect(found).toBeGreaterThan(100);
    expect((2 * right) / (found + total)).toBeCloseTo(training.parts?.blend.f1 ?? Number.NaN, 10);
  });
});
