import { fileURLToPath, pathToFileURL } from 'node:url';
import { Trainer } from '../../src/jobs/index.js';
import type { Storage } from '../../src/storage/index.js';

export const dataset = pathToFileURL(fileURLToPath(new URL('../../examples/customer-reviews', import.meta.url))).href;

export const model_config = {
  name: 'reviews',
  type: 'binary-text-classification',
  family: 'Papaya',
  size: 'mini',
} as const;

/** Trains a mini of an account. @returns its id. */
export async function aReadyModelFor(storage: Storage, app_id: string): Promise<string> {
  await using trainer = new Trainer({ storage, account: { app_id, tier: 'pro' }, isolation: 'inline' });
  const created = await trainer.createTrainingJob({
    dataset_url: dataset,
    model_config,
    training_config: { num_epochs: 1, use_pretrained: false },
  });
  if (created.isErr()) throw created.error;
  const { id } = created.value;
  const ended = await trainer.waitForTrainingJob(id);
  if (ended.isErr()) throw ended.error;
  return id;
}
