import { distill, orThrow } from 'orchard-nlp';

const goods = ['bread', 'milk', 'soup', 'rice', 'honey', 'cheese', 'apples', 'fish', 'cake', 'salad'];
const remarks = ['was wonderful', 'arrived early', 'made us happy', 'was stale', 'arrived late', 'made us ill'];
const texts = goods.flatMap((good) => remarks.map((remark) => `The ${good} ${remark}.`));

/** In your program: a request to a language model, or to anything else that knows the answers. */
async function askLargeModel(text: string): Promise<{ praise: number; blame: number }> {
  const isGood = /wonderful|early|happy/.test(text);
  return isGood ? { praise: 0.95, blame: 0.05 } : { praise: 0.1, blame: 0.9 };
}

const distilled = distill({
  teacher: (some) => Promise.all(some.map(askLargeModel)),
  labels: ['praise', 'blame'],
  texts,
  output: './remarks-model',
});
await using model = await orThrow(distilled);
const { agreement, kept } = model.distillation;
console.log(`agreement ${agreement?.share.toFixed(2)} on ${agreement?.of} texts; ${kept} answers from earlier calls`);
const answer = await orThrow(model.predict('The tea was wonderful.'));
console.log(answer.kind === 'labels' && answer.label);
