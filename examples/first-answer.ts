import { loadModel, orThrow } from 'orchard-nlp';

await using model = await orThrow(loadModel('sentiment-classification'));
const { label, score } = await orThrow(model.predict('Works perfectly, would buy again.'));
console.log(label, score.toFixed(2));
