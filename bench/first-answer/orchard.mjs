/**
 * Prints the milliseconds from the import of Orchard to its first answer, as JSON: `orchard.mjs <catalogue> <model>
 * <query> … <runtime>`. `worker` is what neither the model's loading nor the answer takes: the thread's start and its imports.
 */
import { subscribe } from 'node:diagnostics_channel';
import { join } from 'node:path';

const [catalogue, name, query] = process.argv.slice(2);
const runtime = process.argv.at(-1);
/** Milliseconds by stage. */
const stages = {};
for (const stage of ['load', 'tokenize', 'run', 'decode']) {
  subscribe(`tracing:orchard.${stage}:end`, ({ startTime, endTime }) => {
    stages[stage] = endTime - startTime;
  });
}
const startedAt = performance.now();
const { loadModel } = await import('orchard-nlp');
const importedAt = performance.now();
const model = (await loadModel(join(catalogue, name), { runtime }))._unsafeUnwrap();
(await model.predict(query))._unsafeUnwrap();
const answeredAt = performance.now();
const { load = Number.NaN, tokenize = 0, run = 0, decode = 0 } = stages;
const answer = tokenize + run + decode;
console.log(
  JSON.stringify({
    import: importedAt - startedAt,
    worker: answeredAt - importedAt - load - answer,
    model: load,
    answer,
    total: answeredAt - startedAt,
  }),
);
await model.close();
