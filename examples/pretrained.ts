import { memoryStorage, Predictor } from 'orchard-nlp';

await using predictor = new Predictor({ storage: memoryStorage() });
const answer = await predictor.predictPretrained('financial-customer-support', 'Where is my card?');
if (answer.isErr()) throw answer.error;
const { labels, scores } = answer.value.data;
console.log(`${labels[0]} ${scores[0]?.toFixed(2)}`);
