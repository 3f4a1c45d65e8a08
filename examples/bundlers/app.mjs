// Asks a model and trains one. Each runs in a thread whose file the bundle must contain or find.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createClassificationArchive, folderModels, memoryStorage, Predictor, Trainer } from 'orchard-nlp';

const type = 'binary-text-classification';

async function ask() {
  const predictor = new Predictor({ storage: memoryStorage(), modelLoader: folderModels(process.argv[2]) });
  const answer = await predictor.predictPretrained(process.argv[3], 'a fine film');
  await predictor.close();
  return answer.map(({ data }) => data.labels[0]);
}

async function train() {
  const folder = await mkdtemp(join(tmpdir(), 'bundled-'));
  const zip = join(folder, 'data.zip');
  const rows = Array.from({ length: 40 }, (_, at) =>
    at % 2 === 0 ? { text: `good ${at}`, label: 'good' } : { text: `bad ${at}`, label: 'bad' },
  );
  const trainer = new Trainer({ storage: memoryStorage() });
  const model_config = { name: 'tiny', type, family: 'Papaya', size: 'mini' };
  const training_config = { use_pretrained: false, num_epochs: 1 };
  const trained = await createClassificationArchive({ name: 'tiny', type, rows }, zip)
    .andThen(() => trainer.createTrainingJob({ dataset_url: pathToFileURL(zip).href, model_config, training_config }))
    .andThen(({ id }) => trainer.waitForTrainingJob(id));
  await trainer.close();
  await rm(folder, { recursive: true });
  return trained.map(({ status, error }) => `${status} ${error?.message ?? ''}`.trim());
}

async function main() {
  for (const work of [ask, train]) {
    const outcome = await work();
    console.log(work.name, outcome.isOk() ? outcome.value : `${outcome.error.code}: ${outcome.error.message}`);
  }
}

main();
