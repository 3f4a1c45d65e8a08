import { loadModel, suggestTexts } from 'orchard-nlp';

const loaded = await loadModel('sentiment-classification');
if (loaded.isErr()) throw loaded.error;
await using model = loaded.value;

const unlabelled = [
  'It does what it says.',
  'It does what it says!',
  'Wonderful, I would buy it again.',
  'The box is grey.',
  'Not bad, but not good either.',
  'Dreadful from the first day on.',
];
const suggested = await suggestTexts(model, unlabelled, { count: 3 });
if (suggested.isErr()) throw suggested.error;
for (const { text, uncertainty } of suggested.value) console.log(`${uncertainty.toFixed(2)} ${text}`);
