import { loadModel } from 'orchard-nlp';

const loaded = await loadModel('sentiment-classification');
if (loaded.isErr()) throw loaded.error;
await using model = loaded.value;
const answer = await model.predict('Works perfectly, would buy again.');
console.log(answer.map(({ label, score }) => `${label} ${score.toFixed(2)}`).unwrapOr('no answer'));
