import { loadModel, suggestTexts } from 'orchard-nlp';

const loaded = await loadModel('financial-customer-support');
if (loaded.isErr()) throw loaded.error;
await using model = loaded.value;

const unlabelled = [
  'Where is my new card?',
  'Where is my new card!',
  'Something went wrong at the shop yesterday.',
  'Good morning.',
  'I lost my phone, and my card was in its case.',
  'Why was I charged twice for one payment?',
];
const suggested = await suggestTexts(model, unlabelled, { count: 3 });
if (suggested.isErr()) throw suggested.error;
for (const { text, uncertainty } of suggested.value) console.log(`${uncertainty.toFixed(2)} ${text}`);
