/** Prints the resident bytes once each model has answered: `memory.mjs <catalogue> <workers> <model …>`. */
import { folderModels, memoryStorage, Predictor } from 'orchard-nlp';

const [catalogue, workers, ...models] = process.argv.slice(2);
const predictor = new Predictor({
  storage: memoryStorage(),
  modelLoader: folderModels(catalogue),
  workers: Number(workers),
});
for (const model of models) (await predictor.predictPretrained(model, 'A text of some words.'))._unsafeUnwrap();
console.log(process.memoryUsage.rss());
await predictor.close();
