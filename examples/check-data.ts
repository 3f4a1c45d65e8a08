import { checkData } from 'orchard-nlp';

const praise = ['Works perfectly', 'Great sound', 'I love it', 'Arrived early', 'A bargain', 'Friendly help'];
const blame = ['Broke at once', 'Awful sound', 'I hate it', 'Arrived late', 'Overpriced', 'Rude answers'];
const rows = [
  ...praise.map((text) => ({ text, label: 'positive' })),
  ...blame.map((text) => ({ text, label: 'negative' })),
  { text: 'great  sound', label: 'negative' },
];

const checked = await checkData({ rows });
if (checked.isErr()) throw checked.error;
const { doubtful, conflicts } = checked.value;
const [first] = doubtful;
if (first) console.log(`row ${first.row}, "${first.text}": labelled ${first.given}, more likely ${first.suggested}`);
for (const conflict of conflicts) {
  console.log(`"${conflict.text}" is labelled ${conflict.rows.map(({ given }) => given).join(' and ')}`);
}
