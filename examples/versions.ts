import { fileStorage, ModelVersions, Predictor, Trainer } from 'orchard-nlp';

const storage = fileStorage('./models');
await using trainer = new Trainer({ storage, tuning: { effort: 'quick' } });
const dataset_url = process.argv[2] ?? 'https://example.com/reviews.zip';
const model_config = { name: 'reviews', type: 'binary-text-classification', family: 'Papaya', size: 'mini' } as const;
async function trained(num_epochs: number): Promise<string> {
  const job = await trainer.createTrainingJob({ dataset_url, model_config, training_config: { num_epochs } });
  if (job.isErr()) throw job.error;
  await trainer.waitForTrainingJob(job.value.id);
  return job.value.id;
}
const [first, second] = [await trained(1), await trained(2)];
const versions = new ModelVersions({ storage });
await versions.promote('reviews@production', first);
await versions.setShadow('reviews@production', second);

const predictor = new Predictor({ storage });
const answer = await predictor.predictCustom('reviews@production', 'Works perfectly, would buy again.');
console.log(answer.map(({ metadata }) => metadata.model_id === first)); // Ok { value: true }
await predictor.close(); // writes the counts of the shadow
const compared = await versions.get('reviews@production');
console.log(compared.map(({ shadow }) => `agreed ${shadow?.agreed}, disagreed ${shadow?.disagreed}`));
await versions.promote('reviews@production', second);
const back = await versions.rollBack('reviews@production', { from: second });
console.log(back.map(({ model_id }) => model_id === first)); // Ok { value: true }
