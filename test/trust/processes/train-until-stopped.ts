import { fileStorage, Trainer, type TrainingIsolation } from 'orchard-nlp';
import { sentimentRequest } from '../../public/sentiments.js';

/** Trains until a signal says to stop, closes its trainer as an application would, and ends. */

const isolations: Readonly<Record<string, TrainingIsolation>> = {
  inline: 'inline',
  worker: 'worker',
  process: 'process',
};

const [, , folder = '', isolation = ''] = process.argv;
const storage = fileStorage(`${folder}/storage`);
const trainer = new Trainer({ storage, threads: 1, isolation: isolations[isolation] ?? 'worker' });
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void trainer.close().then(() => console.log('closed')));
}
const { id } = (await trainer.createTrainingJob(await sentimentRequest(folder, { num_epochs: 3 })))._unsafeUnwrap();
try {
  for await (const event of trainer.watch(id)) {
    if (event.type !== 'progress' || event.step < 3) continue;
    console.log(id);
    break;
  }
} catch {
  // Closed while it was watched.
}
