import { loadModel, orThrow } from 'orchard-nlp';

await using model = await orThrow(loadModel('named-entity-recognition'));

async function* lines() {
  yield 'Ada Lovelace met Charles Babbage in London.';
  yield 'The train from Vienna reached Prague at noon.';
}
for await (const answer of model.predict(lines())) {
  if (answer.isErr()) throw answer.error;
  for (const { type, text, start } of answer.value.entities) console.log(`${type} "${text}" at ${start}`);
}
