/**
 * Prints the milliseconds from the import of transformers.js to its first answer, as JSON: `transformers.mjs
 * <catalogue> <model> <query> <threads> <dtype>`. The model is a classifier.
 */
const [catalogue, model, query, threads, dtype] = process.argv.slice(2);
const startedAt = performance.now();
const { env, pipeline } = await import('@huggingface/transformers');
const importedAt = performance.now();
env.allowRemoteModels = false;
env.localModelPath = catalogue;
const session_options = { intraOpNumThreads: Number(threads), interOpNumThreads: 1 };
const classify = await pipeline('text-classification', model, { dtype, session_options });
const loadedAt = performance.now();
const [answer] = await classify(query);
const answeredAt = performance.now();
if (typeof answer?.score !== 'number') throw new Error(`${model}: no answer, ${JSON.stringify(answer)}`);
console.log(
  JSON.stringify({
    import: importedAt - startedAt,
    model: loadedAt - importedAt,
    answer: answeredAt - loadedAt,
    total: answeredAt - startedAt,
  }),
);
