import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileStorage, Predictor, type Storage, Trainer, type TrainingConfig, type TrainingRequest } from 'orchard-nlp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Bm25Index } from '../../src/lexical/index.js';
import {
  CONFIG_FILE,
  decodeSafetensors,
  EXPERT_FILE,
  modelFolderConfig,
  ONNX_FILE,
  QUANTIZED_ONNX_FILE,
  TRAINING_FILE,
  trainingRecordSchema,
  WEIGHTS_FILE,
} from '../../src/models/index.js';
import { loadTokenizer, trainWordPiece } from '../../src/text/index.js';
import { itAnswersConsistently } from './consistent-answers.js';
import { optionsDatasets } from './options-datasets.js';
import { temporaryFolder } from './sentiments.js';

/** What each documented training option, and each of the library's own, changes in the model that comes out. */

const families = ['Papaya', 'Grapefruit', 'Dragonfruit'] as const;
/** As short as a training can be; one setting of each option. */
const plain: TrainingConfig = { num_epochs: 2, batch_size: 4, use_pretrained: false };
/** The other setting of each. */
const changed: TrainingConfig = {
  num_epochs: 1,
  batch_size: 5,
  data_augmentation: true,
  preprocessing: { lowercase: false },
  language: 'german',
};

let folder: string;
let storage: Storage;
let trainer: Trainer;
const jobs = new Map<string, string>();

/** Trains on a family's dataset, once for each configuration. @returns the model's id. */
async function trained(
  family: (typeof families)[number],
  training_config: TrainingConfig,
  model: Partial<TrainingRequest['model_config']> = {},
  by = trainer,
): Promise<string> {
  const key = JSON.stringify([family, training_config, model]);
  const known = by === trainer ? jobs.get(key) : undefined;
  if (known !== undefined) return known;
  const dataset = optionsDatasets[family];
  const created = await by.createTrainingJob({
    dataset_url: await dataset.write(folder),
    model_config: { name: 'options', ...dataset.model, ...model },
    training_config,
  });
  const { id } = created._unsafeUnwrap();
  const job = (await by.waitForTrainingJob(id))._unsafeUnwrap();
  expect(job.error).toBeUndefined();
  if (by === trainer) jobs.set(key, id);
  return id;
}

const jobOf = async (id: string) => (await trainer.getTrainingJob(id))._unsafeUnwrap();
const fileOf = async (id: string, name: string) => readFile(join((await storage.openFolder(id)) ?? '', name));
const jsonOf = async (id: string, name: string): Promise<unknown> => JSON.parse((await fileOf(id, name)).toString());
const recordOf = async (id: string) => trainingRecordSchema.parse(await jsonOf(id, TRAINING_FILE));

/** What the model's encoder reads of a text. */
async function idsOf(id: string, text: string): Promise<readonly number[]> {
  const tokenizer = loadTokenizer(await jsonOf(id, 'tokenizer.json'));
  return [...tokenizer.encode(text).ids];
}

beforeAll(async () => {
  folder = await temporaryFolder();
  storage = fileStorage(join(folder, 'storage'));
  trainer = new Trainer({ storage, threads: 2 });
});
afterAll(async () => {
  await trainer.close();
  await rm(folder, { recursive: true });
});

describe.each(families)('%s', (family) => {
  it('reports num_epochs entries of each figure, and the batch_size', async () => {
    const { training_stats: stats } = await jobOf(await trained(family, plain));
    expect(stats).toMatchObject({ epoch: 2, batch_size: 4 });
    const { elapsed_time, training, validation } = stats.metrics;
    for (const series of [elapsed_time, training.loss, ...Object.values(validation)]) {
      expect(series).toHaveLength(2);
    }
    const other = await jobOf(await trained(family, changed));
    expect(other.training_stats).toMatchObject({ epoch: 1, batch_size: 5 });
  });

  it('trains on edited copies beside the rows with data_augmentation, and leaves dev alone', async () => {
    const rowsOf = async (config: TrainingConfig) => {
      const { dataset } = await recordOf(await trained(family, config));
      return [dataset?.train_rows ?? 0, dataset?.dev_rows ?? 0] as const;
    };
    const [rows, dev] = await rowsOf(plain);
    const [more, sameDev] = await rowsOf(changed);
    expect(rows).toBeGreaterThan(0);
    expect(more).toBeGreaterThan(rows);
    expect(sameDev).toBe(dev);
  });

  it('tells US from us only where lowercase is false', async () => {
    const folded = await trained(family, plain);
    const cased = await trained(family, changed);
    expect(await idsOf(folded, 'US')).toEqual(await idsOf(folded, 'us'));
    expect(await idsOf(cased, 'US')).not.toEqual(await idsOf(cased, 'us'));
    const lowercaseOf = async (id: string) =>
      modelFolderConfig(await jsonOf(id, 'config.json'), 'config.json').orchard.lowercase;
    expect([await lowercaseOf(folded), await lowercaseOf(cased)]).toEqual([true, false]);
    expect(await jsonOf(cased, 'tokenizer_config.json')).toMatchObject({ do_lower_case: false });
  });

  // BM25 folds words itself, and on so few questions it answers alone.
  it.skipIf(family === 'Dragonfruit')(
    'answers a query in upper case as one in lower case unless lowercase is false',
    async () => {
      await using predictor = new Predictor({ storage });
      const { query } = optionsDatasets[family];
      const answer = async (id: string, text: string) => {
        const { labels, scores } = (await predictor.predictCustom(id, text))._unsafeUnwrap().data;
        return { labels, scores };
      };
      const folded = await trained(family, plain);
      expect(await answer(folded, query.toUpperCase())).toEqual(await answer(folded, query.toLowerCase()));
      const cased = await trained(family, changed);
      expect(await answer(cased, query.toUpperCase())).not.toEqual(await answer(cased, query.toLowerCase()));
    },
  );

  it('warns that there is no backbone unless use_pretrained is false', async () => {
    const kinds = async (config: TrainingConfig) =>
      (await jobOf(await trained(family, config))).warnings.map(({ kind }) => kind);
    expect(await kinds(plain)).not.toContain('no_backbone');
    expect(await kinds(changed)).toContain('no_backbone');
  });

  it('learns a vocabulary from the texts where the language is another', async () => {
    const sizeOf = async (config: TrainingConfig) => {
      const json = await jsonOf(await trained(family, config), 'config.json');
      return modelFolderConfig(json, 'config.json').vocab_size;
    };
    expect(await sizeOf(plain)).toBe(16_000);
    expect(await sizeOf(changed)).toBeLessThan(1000);
  });
});

describe('preprocessing in model_config', () => {
  it('does what it does in training_config', async () => {
    const { preprocessing, ...rest } = changed;
    const there = await trained('Papaya', changed);
    const here = await trained('Papaya', rest, { ...(preprocessing && { preprocessing }) });
    for (const file of [WEIGHTS_FILE, EXPERT_FILE, 'tokenizer.json']) {
      expect((await fileOf(here, file)).equals(await fileOf(there, file))).toBe(true);
    }
  });
});

describe('language', () => {
  it('makes BM25 compare English words without their endings, and others as they are', async () => {
    const search = async (config: TrainingConfig, query: string) => {
      const bytes = await fileOf(await trained('Dragonfruit', config), EXPERT_FILE);
      return Bm25Index.decode(bytes, EXPERT_FILE).search(query, 10);
    };
    expect(await search(plain, 'swimming')).toHaveLength(1);
    expect(await search(changed, 'swimming')).toEqual([]);
    expect(await search(changed, 'swims')).toHaveLength(1);
  });

  it.each([
    ['russian', 'мой', 'мои', false],
    ['japanese', 'がき', 'かき', false],
    ['french', 'été', 'ete', true],
  ])('%s: %s and %s are the same word: %s', (language, one, other, same) => {
    const texts = [`${one} ${other}`, `${other} ${one}`];
    const json = trainWordPiece(texts, { vocabularySize: 200, lowercase: true, language });
    const tokenizer = loadTokenizer(json);
    const [oneIds, otherIds] = [one, other].map((word) => [...tokenizer.encode(word).ids]);
    expect(oneIds).not.toContain(tokenizer.specialTokens.unknown);
    if (same) expect(oneIds).toEqual(otherIds);
    else expect(oneIds).not.toEqual(otherIds);
  });
});

describe('learning_rate', () => {
  it('is how far the weights move', async () => {
    const weightsOf = async (learning_rate: number) => {
      // In German there is no backbone, so the vocabulary and with it the model are small.
      const id = await trained('Papaya', { ...plain, language: 'german', num_epochs: 1, learning_rate });
      const { tensors } = decodeSafetensors(await fileOf(id, WEIGHTS_FILE), WEIGHTS_FILE);
      return [...tensors.values()].flatMap(({ values }) => [values]);
    };
    const [start, near, far] = [await weightsOf(1e-9), await weightsOf(1e-5), await weightsOf(1e-3)];
    const moved = (weights: typeof start) =>
      Math.hypot(...weights.map((values, at) => distance(values, start[at] ?? values)));
    // Adam's steps are as long as the learning rate says, whatever the gradient.
    expect(moved(far) / moved(near)).toBeGreaterThan(50);
    expect(moved(far) / moved(near)).toBeLessThan(200);
  });
});

function distance(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let squares = 0;
  for (let at = 0; at < a.length; at += 1) squares += ((a[at] ?? 0) - (b[at] ?? 0)) ** 2;
  return Math.sqrt(squares);
}

describe('tuning', () => {
  it('reaches every run of its trainer, and changes what is learned', async () => {
    const tuning = { tokenDropout: 0.5, labelSmoothing: 0, classWeights: 'balanced' } as const;
    await using tuned = new Trainer({ storage, threads: 2, tuning });
    const usual = await trained('Papaya', changed);
    const other = await trained('Papaya', changed, {}, tuned);
    expect((await recordOf(other)).hyperparameters).toMatchObject({
      tokenDropout: 0.5,
      labelSmoothing: 0,
      balanced: true,
    });
    expect((await fileOf(other, WEIGHTS_FILE)).equals(await fileOf(usual, WEIGHTS_FILE))).toBe(false);
  });

  it.each([
    ['an unknown choice', { warmup: 0.1 }, /tuning: .*warmup/],
    ['all tokens hidden', { tokenDropout: 1 }, /tuning\.tokenDropout: /],
    ['a class weight of its own', { classWeights: 'heavy' }, /tuning\.classWeights: /],
  ])('refuses %s, naming it', (_, tuning, message) => {
    expect(() => Reflect.construct(Trainer, [{ storage, tuning }])).toThrow(message);
  });
});

describe.each(families)('the 8-bit weights of %s', (family) => {
  let id: string;
  beforeAll(async () => {
    id = await trained(family, plain);
  });

  it('answer where the record says that they held on dev, and take a quarter of the space; else the job says why not', async () => {
    const { precision } = await recordOf(id);
    const { orchard } = modelFolderConfig(await jsonOf(id, CONFIG_FILE), CONFIG_FILE);
    const held = (precision?.int8 ?? 0) >= (precision?.float32 ?? 1) - 0.005;
    expect(precision?.answers).toBe(held ? 'int8' : 'float32');
    expect(orchard.graph).toBe(held ? QUANTIZED_ONNX_FILE : undefined);
    const kinds = (await jobOf(id)).warnings.map(({ kind }) => kind);
    expect(kinds.includes('float32_kept')).toBe(!held);
    if (!held) return;
    const [whole, quantized] = [await fileOf(id, ONNX_FILE), await fileOf(id, QUANTIZED_ONNX_FILE)];
    expect(quantized.length / whole.length).toBeLessThan(0.3);
  });

  const queries = ['Works perfectly and looks good.', 'Ann lives in Rome.', 'when does the library open?'];
  itAnswersConsistently(() => ({ id, folder, queries }), 5);
});

it('has no 8-bit weights where tuning.quantize is false', async () => {
  await using unquantized = new Trainer({ storage, threads: 2, tuning: { quantize: false } });
  const id = await trained('Papaya', changed, {}, unquantized);
  await using predictor = new Predictor({ storage });
  expect((await predictor.predictCustom(id, 'fine'))._unsafeUnwrap().data.labels).not.toHaveLength(0);
  await expect(fileOf(id, QUANTIZED_ONNX_FILE)).rejects.toMatchObject({ code: 'ENOENT' });
});

describe('an unknown field', () => {
  const request = {
    dataset_url: 'https://example.com/data.zip',
    model_config: { name: 'options', ...optionsDatasets.Papaya.model },
  };
  it.each([
    ['of the request', { ...request, epochs: 3 }, /epochs/],
    ['of model_config', { ...request, model_config: { ...request.model_config, layers: 4 } }, /model_config: .*layers/],
    ['of training_config', { ...request, training_config: { epochs: 3 } }, /training_config: .*epochs/],
    [
      'of preprocessing',
      { ...request, training_config: { preprocessing: { stem: true } } },
      /training_config\.preprocessing: .*stem/,
    ],
  ])('%s is a ValidationError that names it', async (_, given, message) => {
    const created = await Reflect.apply(trainer.createTrainingJob, trainer, [given]);
    expect(created._unsafeUnwrapErr()).toMatchObject({
      code: 'validation',
      message: expect.stringMatching(message),
    });
  });
});
