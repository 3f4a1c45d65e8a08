import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createClassificationArchive, fileStorage, folderModels, Trainer, type TrainingEvent } from 'orchard-nlp';
import { onTestFinished } from 'vitest';
import { writeCheckpoint } from '../support/checkpoint-builder.js';
import { resultOf } from '../support/outcomes.js';

/** Jobs that take seconds: a backbone of two layers of 8, and ten texts. */

/** A device that no platform of these tests has. */
export const missing = process.platform === 'win32' ? 'coreml' : 'dml';

const rows = ['great', 'awful'].flatMap((label) =>
  ['the lamp is', 'the room is', 'the lamp and the room works', 'the room broke', 'it'].map((text) => ({
    text: `${text} ${label}`,
    label,
  })),
);

/** Trains a small classifier. @returns its id and storage, and what its job told. */
export async function trainTiny(options: Partial<ConstructorParameters<typeof Trainer>[0]>) {
  const folder = await mkdtemp(join(tmpdir(), 'orchard-tiny-job-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  writeCheckpoint(join(folder, 'models', 'tiny'));
  const archive = join(folder, 'data.zip');
  const type = 'binary-text-classification';
  await resultOf(createClassificationArchive({ type, name: 'small', rows, devRows: rows }, archive));
  const storage = fileStorage(join(folder, 'storage'));
  const modelLoader = folderModels(join(folder, 'models'));
  await using trainer = new Trainer({ storage, modelLoader, backbone: 'tiny', threads: 1, ...options });
  const { id } = await resultOf(
    trainer.createTrainingJob({
      dataset_url: pathToFileURL(archive).href,
      model_config: { name: 'small', type, family: 'Papaya', size: 'mini' },
      training_config: { num_epochs: 2, batch_size: 5 },
    }),
  );
  const events: TrainingEvent[] = [];
  for await (const event of trainer.watch(id)) events.push(event);
  const job = await resultOf(trainer.getTrainingJob(id));
  const devices = events.flatMap((event) => (event.type === 'device' ? event.device : []));
  return { id, job, devices, storage };
}
