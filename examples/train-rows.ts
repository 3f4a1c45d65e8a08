import { train } from 'orchard-nlp';

const praise = ['Works perfectly', 'Great sound', 'I love it', 'Arrived early', 'A bargain', 'Friendly help'];
const blame = ['Broke at once', 'Awful sound', 'I hate it', 'Arrived late', 'Overpriced', 'Rude answers'];
const rows = [
  ...praise.map((text) => ({ text, label: 'positive' })),
  ...blame.map((text) => ({ text, label: 'negative' })),
];

const trained = await train({ rows, output: './reviews' });
if (trained.isErr()) throw trained.error;
await using model = trained.value;
const answer = await model.predict('The sound is great');
console.log(answer.map(({ label, score }) => `${label} ${score.toFixed(2)}`).unwrapOr('no answer'));
