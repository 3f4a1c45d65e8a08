import { tune } from 'orchard-nlp';

const praise = ['Works perfectly', 'Great sound', 'I love it', 'Arrived early', 'A bargain', 'Friendly help'];
const blame = ['Broke at once', 'Awful sound', 'I hate it', 'Arrived late', 'Overpriced', 'Rude answers'];
const rows = [
  ...praise.map((text) => ({ text, label: 'positive' })),
  ...blame.map((text) => ({ text, label: 'negative' })),
];

// No 8-bit weights: without them, a search on so few rows is faster.
const tuned = await tune({ rows, epochs: 1, trials: 2, budgetSeconds: 600, tuning: { quantize: false } });
if (tuned.isErr()) throw tuned.error;
await using model = tuned.value;
const { trials, metric, best } = model.tuning;
for (const { number, settings, status, figure } of trials) {
  console.log(`trial ${number}: ${metric} ${figure?.toFixed(2)}, ${status}, ${JSON.stringify(settings)}`);
}
console.log(`the best is trial ${best.trial}`);
