import { fileStorage, Predictor, Trainer } from 'orchard-nlp';

const storage = fileStorage('./models');
await using trainer = new Trainer({ storage });
const job = await trainer.createTrainingJob({
  dataset_url: process.argv[2] ?? 'https://example.com/library-questions.zip',
  model_config: { name: 'questions', type: 'question-answering', family: 'Dragonfruit', size: 'mini' },
  training_config: { num_epochs: 5 },
});
if (job.isErr()) throw job.error;
await trainer.waitForTrainingJob(job.value.id);

await using predictor = new Predictor({ storage });
const answer = await predictor.predictCustom(job.value.id, 'What do I do if I lose my card?');
if (answer.isErr()) throw answer.error;
const { labels: passages, scores } = answer.value.data;
console.log(`${scores[0]?.toFixed(2)} ${passages[0]}`);
