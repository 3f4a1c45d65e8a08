import { fileStorage, Predictor, Trainer } from 'orchard-nlp';

const storage = fileStorage('./models');
await using trainer = new Trainer({
  storage,
  tuning: { adapters: { rank: 8, targets: ['query', 'value'] } },
});
const job = await trainer.createTrainingJob({
  dataset_url: process.argv[2] ?? 'https://example.com/reviews.zip',
  model_config: { name: 'reviews', type: 'binary-text-classification', family: 'Papaya', size: 'mini' },
});
if (job.isErr()) throw job.error;
const { id } = job.value;
await trainer.waitForTrainingJob(id);

await using predictor = new Predictor({ storage });
const answer = await predictor.predictCustom(id, 'Works perfectly, would buy again.');
console.log(answer.map(({ data }) => `${data.labels[0]} ${data.scores[0]}`));
