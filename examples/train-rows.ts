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
console.log(`${model.type}: ${model.training.reason}`);

const answer = await model.predict('The sound is great');
if (answer.isErr()) throw answer.error;
console.log(`${answer.value.label} ${answer.value.score.toFixed(2)}`);
const evaluation = await model.evaluate(rows);
if (evaluation.isOk() && evaluation.value.kind === 'labels')
  console.log(`accuracy ${evaluation.value.accuracy}`);
