#!/usr/bin/env node
// Prints the sentiment of each line of standard input. With --only negative, it prints only negative lines.
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { loadModel } from 'orchard-nlp';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    model: { type: 'string', default: 'sentiment-classification' },
  },
});
const loaded = await loadModel(values.model);
if (loaded.isErr()) {
  console.error(loaded.error.message);
  process.exit(1);
}
const model = loaded.value;
const lines = [];

/** Keeps each line until its answer arrives; answers have the order of the lines. */
async function* read() {
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() === '') continue;
    lines.push(line);
    yield line;
  }
}

for await (const answer of model.predict(read())) {
  const line = lines.shift();
  if (answer.isErr()) console.error(`${answer.error.message}: ${line}`);
  else if (values.only === undefined || answer.value.label === values.only)
    console.log(`${answer.value.label}\t${answer.value.score.toFixed(2)}\t${line}`);
}
await model.close();
