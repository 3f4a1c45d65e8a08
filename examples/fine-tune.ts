import { fileStorage, hubModels, Trainer } from 'orchard-nlp';

const storage = fileStorage('./models');
await using trainer = new Trainer({
  storage,
  modelLoader: hubModels(),
  backbone: process.argv[3] ?? 'sentence-transformers/all-MiniLM-L6-v2',
});
const job = await trainer.createTrainingJob({
  dataset_url: process.argv[2] ?? 'https://example.com/reviews.zip',
  model_config: { name: 'reviews', type: 'binary-text-classification', family: 'Papaya', size: 'base' },
});
if (job.isErr()) throw job.error;
for await (const event of trainer.watch(job.value.id)) {
  if (event.type === 'backbone') console.log(`${event.file}: ${event.receivedBytes} of ${event.totalBytes}`);
  if (event.type === 'epoch') console.log(`epoch ${event.stats.epoch}`, event.stats.metrics.validation);
}
