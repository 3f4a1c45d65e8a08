import { search } from 'orchard-nlp';

const made = await search([
  { id: 'hours', text: 'The library opens at nine and closes at six.', data: { desk: 'main' } },
  { id: 'cards', text: 'If you lose your card, tell us at the desk at once.', data: { desk: 'main' } },
  { id: 'prints', text: 'A printed page costs ten cents.', data: { desk: 'copies' } },
]);
if (made.isErr()) throw made.error;
await using index = made.value;

const changes = [
  await index.add([{ id: 'scans', text: 'Scanning a page is free.', data: { desk: 'copies' } }]),
  await index.update([{ id: 'prints', text: 'A printed page costs fifteen cents.', data: { desk: 'copies' } }]),
  await index.delete(['cards']),
];
for (const change of changes) if (change.isErr()) throw change.error;

const found = await index.search('What does it cost to print?', { k: 1, where: (data) => data?.desk === 'copies' });
if (found.isErr()) throw found.error;
for (const { id, passage } of found.value) console.log(`${id}: ${passage}`);
