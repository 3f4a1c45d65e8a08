import { fileStorage, Predictor, Trainer } from 'orchard-nlp';

const storage = fileStorage('./models');
await using trainer = new Trainer({ storage });
const job = await trainer.createTrainingJob({
  dataset_url: process.argv[2] ?? 'https://example.com/news-entities.zip',
  model_config: {
    name: 'entities',
    type: 'named-entity-recognition',
    family: 'Grapefruit',
    size: 'mini',
    preprocessing: { lowercase: false },
  },
  training_config: { num_epochs: 5 },
});
if (job.isErr()) throw job.error;
await trainer.waitForTrainingJob(job.value.id);

await using predictor = new Predictor({ storage });
const query = 'Linda Marsh flew from Vienna to Oslo.';
const answer = await predictor.predictCustom(job.value.id, query);
if (answer.isErr()) throw answer.error;
const { labels, scores, tokens = [], token_start_positions: starts = [] } = answer.value.data;
for (const [at, token] of tokens.entries()) {
  console.log(`${labels[at]} "${token}" at ${starts[at]}, ${scores[at]?.toFixed(2)}`);
}
