/**
 * A small program: `program.mjs <folder to save in>`. Prints one line of JSON for each thing that it does, with the error
 * if it fails; it ends on its own.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createClassificationArchive, embed, fileStorage, loadModel, search, Trainer, train } from 'orchard-nlp';

const [, , folder] = process.argv;
const rows = Array.from({ length: 24 }, (_, at) => ({
  text: `the lamp ${at} is ${at % 2 ? 'good' : 'bad'}`,
  label: at % 2 ? 'good' : 'bad',
}));

async function attempt(step, work) {
  let error;
  const value = await work().catch((thrown) => {
    error = { code: thrown.code ?? thrown.name, message: thrown.message };
  });
  console.log(JSON.stringify({ step, error }));
  return value;
}

const value = (result) => {
  if (result.isErr()) throw result.error;
  return result.value;
};

const model = await attempt('load', async () => value(await loadModel('sentiment-classification')));
await attempt('predict', async () => value(await model.predict('it works perfectly')));
// More texts than the calling thread answers.
await attempt('predict many', async () => value(await model.predict(rows.map(({ text }) => text.repeat(20)))));
await attempt('explain', async () => value(await model.explain('it works perfectly')));
await attempt('evaluate', async () => value(await model.evaluate([{ text: 'great', label: 'positive' }])));
await model?.close();
await attempt('embed', async () => value(await embed(['one text', 'another text'])));
await attempt('search', async () => {
  const index = value(await search(['the library opens at nine', 'the river is cold']));
  value(await index.search('when does it open?'));
  await index.close();
});
const trained = await attempt('train', async () => value(await train({ rows, epochs: 1, threads: 1 })));
await attempt('save', async () => value(await trained.save(join(folder, 'model'))));
await trained?.close();
await attempt('open', async () => {
  const saved = value(await loadModel(join(folder, 'model')));
  value(await saved.predict('it is good'));
  await saved.close();
});
await attempt('train in a process', async () => {
  const apart = value(await train({ rows, epochs: 1, threads: 1, isolation: 'process' }));
  await apart.close();
});
await attempt('job', async () => {
  const dataset_url = pathToFileURL(join(folder, 'rows.zip')).href;
  const type = 'binary-text-classification';
  value(await createClassificationArchive({ rows, type, name: 'lamps' }, join(folder, 'rows.zip')));
  const trainer = new Trainer({ storage: fileStorage(join(folder, 'store')) });
  try {
    const model_config = { name: 'lamps', type, family: 'Papaya', size: 'mini' };
    const created = value(
      await trainer.createTrainingJob({ dataset_url, model_config, training_config: { num_epochs: 1 } }),
    );
    const { status, error } = value(await trainer.waitForTrainingJob(created.id));
    if (status !== 'READY') throw new Error(error?.message ?? status);
  } finally {
    await trainer.close();
  }
});
