import { createInterface } from 'node:readline';
import { inferenceService, Predictor } from 'orchard-nlp';
import { postgresStorage } from 'orchard-nlp/postgres';
import type { ClusterSettings } from './cluster-settings.js';

/** `predict.ts <settings>`: asks the models on its input, `<app_id> <id>` per line, and prints each answer. */

const { connectionString, schema, cache }: ClusterSettings = JSON.parse(process.argv[2] ?? '');
const storage = postgresStorage(connectionString, { schema, cache });
const inference = inferenceService({ workers: 1 });
const predictors = new Map<string, Predictor>();

function predictorOf(app_id: string): Predictor {
  const known = predictors.get(app_id);
  if (known !== undefined) return known;
  const made = new Predictor({ storage, inference, account: { app_id, tier: 'basic' } });
  predictors.set(app_id, made);
  return made;
}

for await (const line of createInterface(process.stdin)) {
  const [app_id = '', id = ''] = line.split(' ');
  const from = performance.now();
  let answer = await predictorOf(app_id).predictCustom(id, 'the lamp works');
  while (answer.isErr() && answer.error.code === 'model_not_ready' && performance.now() - from < 2_000) {
    answer = await predictorOf(app_id).predictCustom(id, 'the lamp works'); // READY elsewhere, and here within 2 s
  }
  const told = answer.isOk() ? `answered ${answer.value.data.labels.join(',')}` : `refused ${answer.error.message}`;
  console.log(id, told);
}
process.exit(0); // its test is gone
