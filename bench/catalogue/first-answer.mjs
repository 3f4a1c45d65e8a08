/** Prints the milliseconds from the import to the first answer: `first-answer.mjs <catalogue> <model> <query>`. */
const [catalogue, model, query] = process.argv.slice(2);
const startedAt = performance.now();
const { folderModels, memoryStorage, Predictor } = await import('orchard-nlp');
const predictor = new Predictor({ storage: memoryStorage(), modelLoader: folderModels(catalogue) });
(await predictor.predictPretrained(model, query))._unsafeUnwrap();
console.log(performance.now() - startedAt);
await predictor.close();
