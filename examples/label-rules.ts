import { loadModel } from 'orchard-nlp';

const loaded = await loadModel('sentiment-classification', {
  rules: [
    { label: 'negative', terms: ['refund', 'money back'], ignoreCase: true },
    { not: 'positive', pattern: '\\bbroke(n)?\\b' },
  ],
});
if (loaded.isErr()) throw loaded.error;
await using model = loaded.value;

for (const text of ['Lovely, but I want a refund.', 'It arrived broken.', 'Works perfectly.']) {
  const answer = await model.predict(text);
  if (answer.isErr()) throw answer.error;
  const { label, score, scores } = answer.value;
  const rules = scores.flatMap(({ label, rule }) => (rule === undefined ? [] : [`rule ${rule} decided ${label}`]));
  console.log(`${label} ${score.toFixed(2)}${rules.length === 0 ? '' : ` (${rules.join(', ')})`}`);
}
