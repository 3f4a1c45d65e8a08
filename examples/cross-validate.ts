import { crossValidate } from 'orchard-nlp';

const praise = ['Works perfectly', 'Great sound', 'I love it', 'Arrived early', 'A bargain', 'Friendly help'];
const blame = ['Broke at once', 'Awful sound', 'I hate it', 'Arrived late', 'Overpriced', 'Rude answers'];
const rows = [
  ...praise.map((text) => ({ text, label: 'positive' })),
  ...blame.map((text) => ({ text, label: 'negative' })),
];

const validated = await crossValidate({ rows, folds: 2, epochs: 1 });
if (validated.isErr()) throw validated.error;
const { figures, doubtful } = validated.value;
for (const { name, mean, deviation } of figures) {
  console.log(`${name} ${mean.toFixed(2)} ± ${deviation.toFixed(2)}`);
}
for (const { text, given, suggested } of doubtful) console.log(`${text}: ${given}, or ${suggested}?`);
