import { train } from 'orchard-nlp';

const goods = ['bread', 'milk', 'soup', 'rice', 'honey', 'cheese', 'apples', 'fish', 'cake', 'salad'];
const rows = goods.flatMap((one, at) => {
  const other = goods[(at + 1) % goods.length] ?? '';
  return [
    { text: `Do you sell ${one}?`, text2: `Where can I find ${one}?`, label: 'same' },
    { text: `I need ${one}`, text2: `Is there any ${one}?`, label: 'same' },
    { text: `Do you sell ${one}?`, text2: `Where can I find ${other}?`, label: 'other' },
    { text: `I need ${one}`, text2: `Is there any ${other}?`, label: 'other' },
  ];
});

const trained = await train({ rows, epochs: 10, output: './same-question' });
if (trained.isErr()) throw trained.error;
await using model = trained.value;
const answer = await model.predict({ text: 'Do you sell tea?', text2: 'Where can I find tea?' });
console.log(answer.map(({ label, score }) => `${label} ${score.toFixed(2)}`).unwrapOr('no answer'));
