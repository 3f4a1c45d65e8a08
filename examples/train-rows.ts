import { orThrow, train } from 'orchard-nlp';

const praise = ['Works perfectly', 'Great sound', 'I love it', 'Arrived early', 'A bargain', 'Friendly help'];
const blame = ['Broke at once', 'Awful sound', 'I hate it', 'Arrived late', 'Overpriced', 'Rude answers'];
const rows = [
  ...praise.map((text) => ({ text, label: 'positive' })),
  ...blame.map((text) => ({ text, label: 'negative' })),
];

await using model = await orThrow(train({ rows, output: './reviews' }));
const { label, score } = await orThrow(model.predict('The sound is great'));
console.log(label, score.toFixed(2));
