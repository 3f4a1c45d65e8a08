import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { createClassificationArchive } from '../../src/families/index.js';
import { TextModel } from '../../src/inference/text-model.js';
import { readModelReport } from '../../src/models/index.js';
import { Random } from '../../src/system/numbers.js';
import { runTraining } from '../../src/training/run-training.js';
import { bertConfig, bertTensors, KNOWN_WORDS, writeCheckpoint } from '../support/checkpoint-builder.js';
import { resultOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** The mistakes in a trained model's evaluation are explained as the model explains its answers. */

const random = Random.fromSeed(3);
/** Labels by chance: no model can be right about many of the dev rows. */
const rows = Array.from({ length: 60 }, (_, at) => ({
  text: Array.from({ length: 4 }, () => KNOWN_WORDS[random.integer(KNOWN_WORDS.length)]).join(' '),
  label: ['a', 'b', 'c'][at % 3] ?? '',
}));

it('the first ten mistakes have weights, which are those that the model tells of these texts', async () => {
  const root = temporaryDirectory();
  const directory = join(root, 'model');
  mkdirSync(directory);
  const archive = join(root, 'archive.zip');
  const type = 'multiclass-text-classification';
  const split = { rows: rows.slice(30), devRows: rows.slice(0, 30) };
  await resultOf(createClassificationArchive({ type, name: 'chance', ...split }, archive));
  const backbone = writeCheckpoint(join(root, 'tiny'), { config: bertConfig, tensors: bertTensors });
  await runTraining(
    {
      id: 'job',
      dataset: { url: pathToFileURL(archive).href },
      model_config: { name: 'm', type, family: 'Papaya', size: 'mini' },
      training_config: { num_epochs: 2, learning_rate: 1e-2 },
      directory,
      allowFileUrls: true,
      threads: 1,
      seed: 1,
      tuning: { quantize: false },
      backbone: { name: 'owner/tiny', directory: backbone },
    },
    { signal: new AbortController().signal, onEvent: () => undefined },
  );
  const { evaluation, config } = await readModelReport(directory);
  const mistakes = evaluation?.mistakes ?? [];
  expect(mistakes.length).toBeGreaterThan(10);
  expect(mistakes.map(({ words }) => words !== undefined)).toEqual(mistakes.map((_, at) => at < 10));
  expect(config.orchard.evidence).toMatchObject({ rows: 30 });

  const model = await TextModel.load(directory, 1);
  for (const { text, predicted, words, score } of mistakes.slice(0, 10)) {
    const { results } = await model.predict([text], { explain: [{ label: predicted[0] }] });
    const [explained] = results[0]?.explained ?? [];
    expect(explained?.score).toBeCloseTo(score, 4);
    expect(words).toHaveLength(4);
    for (const [at, { start, end, weight }] of (words ?? []).entries()) {
      expect(text.slice(start, end)).toBe(explained?.words[at]?.word);
      expect(weight).toBeCloseTo(explained?.words[at]?.weight ?? Number.NaN, 2);
    }
  }
  await model.release();
});
