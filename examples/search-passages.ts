import { search } from 'orchard-nlp';

const made = await search([
  'The library opens at nine and closes at six.',
  'If you lose your card, tell us at the desk at once.',
  'Books can be renewed online, twice.',
  'A printed page costs ten cents.',
]);
if (made.isErr()) throw made.error;
await using index = made.value;

for (const question of ['When does the library open?', 'Who won the world cup?']) {
  const found = await index.search(question, { k: 1, minScore: 0.5 });
  if (found.isErr()) throw found.error;
  const [best] = found.value;
  console.log(best ? `${best.score.toFixed(2)} ${best.passage}` : `nothing about "${question}"`);
}
