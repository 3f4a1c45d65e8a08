import { type InferenceResult, Medley, type MedleyAnswers } from 'orchard-nlp';

await using medley = new Medley();
const outcome = await medley.predict({
  query: 'I was charged twice, and nobody answers the phone.',
  models: ['financial-customer-support', 'emotion-detection', 'weather'],
});
if (outcome.isOk()) {
  show(outcome.value.data);
} else if (outcome.error.code === 'medley') {
  // There is no model "weather". The error names it and has the answers of the other models.
  console.log(outcome.error.message);
  show(outcome.error.answers);
} else {
  throw outcome.error;
}

function show(answers: MedleyAnswers<InferenceResult>): void {
  for (const [model, { labels, scores }] of Object.entries(answers)) {
    console.log(`${model}: ${labels[0]} ${scores[0]?.toFixed(2)}`);
  }
}
