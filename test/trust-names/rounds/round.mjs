/** What the rounds have in common: an application that trains a model, asks it and shows its report. */
import assert from 'node:assert/strict';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { fileStorage, folderModels, Medley, Predictor, Trainer } from 'orchard-nlp';

/** Properties of every object, and what else a library might take a name for. */
export const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', 'prototype', 'then', '0'];

/** Of accounts, and of pretrained models. */
const [strange, stranger] = names;

/** @throws the error of a call that fails. */
export async function resultOf(call) {
  const outcome = await call;
  if (outcome.isErr()) throw outcome.error;
  return outcome.value;
}

/**
 * Trains a model of names like these under a name and for an account like these; then asks it as its owner does and as a
 * pretrained one.
 * @param archive zip of the dataset
 * @param query for the model
 * @returns what it answers, and its report
 */
export async function round({ folder, archive, model, query, isolation }) {
  const storage = fileStorage(join(folder, 'storage'));
  const account = { app_id: strange, tier: 'pro' };
  const request = {
    dataset_url: pathToFileURL(archive).href,
    model_config: { name: stranger, size: 'mini', ...model },
    training_config: {
      batch_size: 8,
      num_epochs: 1,
      learning_rate: 1e-3,
      use_pretrained: false,
      language: 'german',
    },
  };
  // Without 8-bit weights training ends sooner.
  const trainer = new Trainer({ storage, account, isolation, threads: 1, tuning: { quantize: false } });
  const { id } = await resultOf(trainer.createTrainingJob(request));
  const { error } = await resultOf(trainer.waitForTrainingJob(id));
  assert.equal(error, undefined);
  const report = await resultOf(trainer.report(id));

  const predictor = new Predictor({ storage, account, ...(isolation === 'inline' && { isolation }) });
  const { data: answer } = await resultOf(predictor.predictCustom(id, query));
  const batch = await resultOf(predictor.predictCustomBatch(id, [query, ...names]));
  assert.deepEqual(batch.data[0].labels, answer.labels);

  const published = join(folder, 'published');
  for (const name of [strange, stranger])
    await cp(await storage.openFolder(id), join(published, name), { recursive: true });
  const medley = new Medley({ modelLoader: folderModels(published), isolation: 'inline' });
  const models = [strange, stranger];
  const { data } = await resultOf(medley.predict({ query, models }));
  assert.deepEqual(Object.keys(data).sort(), [...models].sort());
  for (const name of models) assert.deepEqual(Object.getOwnPropertyDescriptor(data, name).value.labels, answer.labels);

  const { data: jobs } = await resultOf(trainer.listTrainingJobs());
  assert.deepEqual(
    jobs.map((job) => job.model.id),
    [id],
  );
  const another = await resultOf(trainer.createTrainingJob(request));
  await resultOf(trainer.cancelTrainingJob(another.id));
  for (const each of [trainer, predictor, medley]) await each.close();
  return { answer, report };
}
