import { memoryStorage, Predictor } from 'orchard-nlp';

await using predictor = new Predictor({ storage: memoryStorage() });
const text = 'The plot is thin, but the actors are wonderful.';
const answer = await predictor.explainPretrained('emotion-detection', text);
if (answer.isErr()) throw answer.error;
for (const { answer: label, score, words } of answer.value.data.explained) {
  console.log(`${label} ${score.toFixed(2)}`);
  for (const { word, start, weight } of words.toSorted((a, b) => b.weight - a.weight).slice(0, 3)) {
    console.log(`  ${weight.toFixed(2)} ${word} at ${start}`);
  }
}
