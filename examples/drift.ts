import { train } from 'orchard-nlp';

const items = ['phone', 'lamp', 'chair', 'kettle', 'radio', 'desk', 'scale', 'heater'];
const praise = ['works perfectly', 'is great', 'arrived early', 'makes me happy'];
const blame = ['broke at once', 'is awful', 'arrived late', 'makes me angry'];
const reviews = (verbs: readonly string[], label: string) =>
  items.flatMap((item) => verbs.map((verb) => ({ text: `The ${item} ${verb}.`, label })));
const rows = [...reviews(praise, 'positive'), ...reviews(blame, 'negative')];

const trained = await train({ rows, effort: 'quick' });
if (trained.isErr()) throw trained.error;
await using model = trained.value;

// What the model was asked this week.
const asked = Array.from({ length: 40 }, (_, at) => `Which train to Vienna leaves after ${at % 12} o'clock?`);
const compared = await model.drift(asked);
if (compared.isErr()) throw compared.error;
const { alarm, reasons, oddest } = compared.value;
console.log(alarm ? 'the texts drifted:' : 'no drift found');
for (const reason of reasons) console.log(`- ${reason}`);
console.log(`oddest: ${asked[oddest[0]?.index ?? 0]}`);
