/** A family from outside of src/, trained and asked by the public classes. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TrainingRequest } from '../../src/contract/index.js';
import { modelTypes, registerFamily } from '../../src/families/index.js';
import { folderModels } from '../../src/model-loader/index.js';
import { Predictor } from '../../src/predictor/index.js';
import { Random } from '../../src/random.js';
import { fileStorage, type Storage } from '../../src/storage/index.js';
import { type JobInformation, Trainer } from '../../src/trainer/index.js';
import { KNOWN_WORDS, writeCheckpoint } from '../support/checkpoint-builder.js';
import { errorOf, resultOf } from '../support/outcomes.js';
import { quince } from './toy/quince.js';

const random = Random.fromSeed(3);

/** Three words twice, in another order; or six different ones. */
function aPair(isSimilar: boolean): string {
  const words = random.shuffle(KNOWN_WORDS);
  const first = words.slice(0, 3);
  const second = isSimilar ? random.shuffle(first) : words.slice(3, 6);
  return `${first.join(' ')}\t${second.join(' ')}`;
}

function writePairs(file: string, rows: number): void {
  const lines = Array.from({ length: rows }, (_, row) => {
    const isSimilar = row % 2 === 0;
    return `${aPair(isSimilar)}\t${isSimilar ? 'similar' : 'different'}\n`;
  });
  writeFileSync(file, lines.join(''));
}

let folder: string;
let storage: Storage;
let request: TrainingRequest;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-quince-'));
  storage = fileStorage(join(folder, 'storage'));
  writeCheckpoint(join(folder, 'backbones', 'tiny'));
  const dataset = join(folder, 'pairs');
  mkdirSync(dataset);
  writePairs(join(dataset, 'train.tsv'), 40);
  writePairs(join(dataset, 'dev.tsv'), 10);
  request = {
    dataset_url: pathToFileURL(dataset).href,
    model_config: { name: 'pairs', type: 'sentence-pair-similarity', family: 'Quince', size: 'mini' },
    training_config: { num_epochs: 2, batch_size: 8 },
  };
});
afterAll(() => rm(folder, { recursive: true }));

function aTrainer(): Trainer {
  const modelLoader = folderModels(join(folder, 'backbones'));
  return new Trainer({ storage, isolation: 'inline', threads: 1, backbone: 'tiny', modelLoader });
}

describe('a family that the application registers', () => {
  let job: JobInformation;

  it('is refused until it is registered', async () => {
    await using trainer = aTrainer();
    expect((await errorOf(trainer.createTrainingJob(request))).message).toMatch(
      /model_config\.type.*model_config\.family.*"Papaya"/,
    );
    registerFamily(quince);
    registerFamily(quince);
    expect(modelTypes().at(-1)).toEqual({ type: 'sentence-pair-similarity', family: 'Quince' });
  });

  it('trains, and reports its own metrics and warnings', async () => {
    await using trainer = aTrainer();
    const { id } = await resultOf(trainer.createTrainingJob(request));
    job = await resultOf(trainer.waitForTrainingJob(id));
    expect(job.error).toBeUndefined();
    expect(job.status).toBe('READY');
    const { main_eval_metric, best_eval_metric_value, metrics } = job.training_stats;
    expect(main_eval_metric).toBe('accuracy');
    expect(best_eval_metric_value).toBe(Math.max(...(metrics.validation.accuracy ?? [])));
    expect(job.blend?.accuracy).toBe(1);
    expect(Object.keys(metrics.validation)).toEqual(['accuracy']);
    expect(metrics.validation.accuracy).toHaveLength(2);
    expect(job.warnings.map(({ kind }) => kind)).toEqual(['untranslated_pair']);
  });

  it('is listed by its type, and has a report', async () => {
    await using trainer = aTrainer();
    const { data } = await resultOf(trainer.listModels({ modelType: 'sentence-pair-similarity' }));
    expect(data.map(({ id, type }) => [id, type])).toEqual([[job.model.id, 'sentence-pair-similarity']]);
    expect(await resultOf(trainer.report(job.model.id))).toContain('Quince mini, sentence-pair-similarity');
  });

  it('answers', async () => {
    await using predictor = new Predictor({ storage, isolation: 'inline' });
    const queries = ['the lamp works\tworks the lamp', 'the lamp works\tand room broke'];
    const { data } = await resultOf(predictor.predictCustomBatch(job.model.id, queries));
    expect(data.map(({ labels }) => labels)).toEqual([
      ['similar', 'different'],
      ['different', 'similar'],
    ]);
    for (const { scores } of data) expect((scores[0] ?? 0) + (scores[1] ?? 0)).toBeCloseTo(1);
  });
});
