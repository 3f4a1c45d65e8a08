import { loadModel, orThrow } from 'orchard-nlp';

await using model = await orThrow(loadModel('financial-customer-support'));
const { label, score } = await orThrow(model.predict("My card still hasn't arrived."));
console.log(label, score.toFixed(2));
