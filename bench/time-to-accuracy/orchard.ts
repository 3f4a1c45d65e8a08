import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClassificationArchive, fileStorage, Predictor } from 'orchard-nlp';
import { train } from '../accuracy/train.js';
import type { LabelledTexts, Row } from '../datasets/labelled-texts.js';
import type { OrchardContestant } from './contestants.js';
import type { Measured, MeasureOptions } from './measured.js';

/** Most queries of one call. */
const BATCH = 20;

/** Trains a job, with all that it does: expert, blend, calibration, quantization, model folder. */
export async function trainWithOrchard(
  { size, start, tuning }: OrchardContestant,
  dataset: LabelledTexts,
  { threads, seed, training }: MeasureOptions,
): Promise<Measured> {
  const folder = await mkdtemp(join(tmpdir(), 'orchard-time-'));
  const { type, labels } = dataset;
  const archive = join(folder, 'rows.zip');
  const toRow = ({ text, labels: [label = ''] }: Row) => ({ text, label });
  const rows = { rows: dataset.train.map(toRow), devRows: dataset.dev.map(toRow) };
  (await createClassificationArchive({ type, name: 'bench', labels, ...rows }, archive))._unsafeUnwrap();
  const storage = fileStorage(join(folder, 'models'));
  const setting = { folder, size, threads, seed, python: '', training, tuning, ...(start && { start }) };
  const before = process.cpuUsage();
  const { id, seconds, epochs } = await train(archive, { type, family: 'Papaya' }, storage, setting);
  const { user, system } = process.cpuUsage(before);
  const answers = await answersOf(id, storage, dataset);
  await storage.close();
  await rm(folder, { recursive: true });
  return {
    predicted: answers.map((label) => labels.indexOf(label)),
    seconds,
    processorSeconds: (user + system) / 1e6,
    versions: `Node ${process.version}`,
    settings: `${epochs} epochs`,
  };
}

async function answersOf(
  id: string,
  storage: ReturnType<typeof fileStorage>,
  { test }: LabelledTexts,
): Promise<string[]> {
  const predictor = new Predictor({ storage });
  const answers: string[] = [];
  for (let start = 0; start < test.length; start += BATCH) {
    const queries = test.slice(start, start + BATCH).map(({ text }) => text);
    const { data } = (await predictor.predictCustomBatch(id, queries))._unsafeUnwrap();
    answers.push(...data.map(({ labels: [label = ''] }) => label));
  }
  await predictor.close();
  return answers;
}
