/** 8-bit weights, which a trainer takes unless its `tuning.quantize` says otherwise. */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type FamilyName, fileStorage, Predictor, type Storage, Trainer } from 'orchard-nlp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CONFIG_FILE,
  modelFolderConfig,
  ONNX_FILE,
  QUANTIZED_ONNX_FILE,
  TRAINING_FILE,
  trainingRecordSchema,
} from '../../src/model-folder/index.js';
import { itAnswersConsistently } from './consistent-answers.js';
import { optionsDatasets } from './options-datasets.js';
import { temporaryFolder } from './sentiments.js';

const families = ['Papaya', 'Grapefruit', 'Dragonfruit'] as const;
const QUERIES = ['Works perfectly and looks good.', 'Ann lives in Rome.', 'when does the library open?'];

let folder: string;
let storage: Storage;
const ids = new Map<FamilyName, string>();

beforeAll(async () => {
  folder = await temporaryFolder();
  storage = fileStorage(join(folder, 'storage'));
  await using trainer = new Trainer({ storage, threads: 2 });
  for (const family of families) {
    const dataset = optionsDatasets[family];
    const created = await trainer.createTrainingJob({
      dataset_url: await dataset.write(folder),
      model_config: { name: 'quantized', ...dataset.model },
      training_config: { num_epochs: 2, use_pretrained: false },
    });
    const { id } = created._unsafeUnwrap();
    expect((await trainer.waitForTrainingJob(id))._unsafeUnwrap().status).toBe('READY');
    ids.set(family, id);
  }
});
afterAll(() => rm(folder, { recursive: true }));

describe.each(families)('%s', (family) => {
  const id = () => ids.get(family) ?? '';
  const file = async (name: string) => readFile(join((await storage.openFolder(id())) ?? '', name));
  const json = async (name: string): Promise<unknown> => JSON.parse((await file(name)).toString());

  it('answers with the graph that its record says held on dev, whose weights take a quarter', async () => {
    const { precision } = trainingRecordSchema.parse(await json(TRAINING_FILE));
    const { orchard } = modelFolderConfig(await json(CONFIG_FILE), CONFIG_FILE);
    const held = (precision?.int8 ?? 0) >= (precision?.float32 ?? 1) - 0.005;
    expect(precision?.answers).toBe(held ? 'int8' : 'float32');
    expect(orchard.graph).toBe(held ? QUANTIZED_ONNX_FILE : undefined);
    if (!held) return;
    const [plain, quantized] = [await file(ONNX_FILE), await file(QUANTIZED_ONNX_FILE)];
    expect(quantized.length / plain.length).toBeLessThan(0.3);
  });

  itAnswersConsistently(() => ({ id: id(), folder, queries: QUERIES }), 5);
});

it('tells a job whose weights must stay float32 why', async () => {
  await using trainer = new Trainer({ storage });
  for (const id of ids.values()) {
    const { warnings } = (await trainer.getTrainingJob(id))._unsafeUnwrap();
    const folderOf = (await storage.openFolder(id)) ?? '';
    const record = trainingRecordSchema.parse(
      JSON.parse(await readFile(join(folderOf, TRAINING_FILE), 'utf8')),
    );
    const refused = warnings?.some(({ kind }) => kind === 'float32_kept') ?? false;
    expect(refused).toBe(record.precision?.answers === 'float32');
  }
});

it('has no second graph if it is turned off', async () => {
  await using trainer = new Trainer({ storage, threads: 2, tuning: { quantize: false } });
  const dataset = optionsDatasets.Papaya;
  const created = await trainer.createTrainingJob({
    dataset_url: await dataset.write(folder),
    model_config: { name: 'plain', ...dataset.model },
    training_config: { num_epochs: 1, use_pretrained: false },
  });
  const { id } = created._unsafeUnwrap();
  await trainer.waitForTrainingJob(id);
  await using predictor = new Predictor({ storage });
  expect((await predictor.predictCustom(id, 'fine'))._unsafeUnwrap().data.labels).not.toHaveLength(0);
  await expect(
    readFile(join((await storage.openFolder(id)) ?? '', QUANTIZED_ONNX_FILE)),
  ).rejects.toMatchObject({ code: 'ENOENT' });
});
