import { loadModel } from 'orchard-nlp';

const loaded = await loadModel('named-entity-recognition', {
  rules: [
    { type: 'ORDER', pattern: 'A-\\d{5}' },
    { name: 'products', type: 'PRODUCT', terms: ['Acme Phone', 'Acme Phone Pro'], ignoreCase: true },
  ],
});
if (loaded.isErr()) throw loaded.error;
await using model = loaded.value;

const text = 'Ada Lovelace ordered the ACME phone pro in Vienna (A-12345).';
const answer = await model.predict(text);
if (answer.isErr()) throw answer.error;
for (const { type, text: found, start, rule } of answer.value.entities) {
  console.log(`${type} "${found}" at ${start}${rule === undefined ? '' : `, by rule ${rule}`}`);
}

const redacted = await model.redact(text, { PER: '[name]', ORDER: (order) => 'x'.repeat(order.text.length) });
if (redacted.isErr()) throw redacted.error;
console.log(redacted.value.text);
