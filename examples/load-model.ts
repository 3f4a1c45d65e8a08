import { loadModel } from 'orchard-nlp';

const loaded = await loadModel('named-entity-recognition');
if (loaded.isErr()) throw loaded.error;
await using model = loaded.value;

async function* lines() {
  yield 'Ada Lovelace met Charles Babbage in London.';
  yield 'The train from Vienna reached Prague at noon.';
}
for await (const answer of model.predict(lines())) {
  if (answer.isErr()) throw answer.error;
  for (const { type, text, start } of answer.value.entities) console.log(`${type} "${text}" at ${start}`);
}
