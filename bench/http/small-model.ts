import { fileStorage, Trainer } from 'orchard-nlp';

/** Enough for a model that answers; speed does not depend on how well. */
const EPOCHS = 2;

/** Trains a mini model on the reviews in examples/. @returns its id in the storage of that folder. */
export async function trainSmallModel(folder: string, app_id: string): Promise<string> {
  const account = { app_id, tier: 'pro' } as const;
  await using trainer = new Trainer({ storage: fileStorage(folder), account });
  const request = {
    dataset_url: new URL('../../examples/customer-reviews', import.meta.url).href,
    model_config: {
      name: 'bench',
      type: 'binary-text-classification',
      family: 'Papaya',
      size: 'mini',
    },
    training_config: { use_pretrained: false, num_epochs: EPOCHS },
  } as const;
  const { id } = (await trainer.createTrainingJob(request))._unsafeUnwrap();
  const { status, error } = (await trainer.waitForTrainingJob(id))._unsafeUnwrap();
  if (status !== 'READY') throw new Error(`training ended as ${status}: ${error?.message}`);
  return id;
}
