// Prints the label of each text: label.ts <model file> <text>…
import process from 'node:process';
import { openModel } from 'orchard-nlp/web';

const [path = '', ...texts] = process.argv.slice(2);
const answers = await openModel(path).andThen((model) => model.predict(texts));
if (answers.isErr()) {
  console.error(answers.error.message);
  process.exit(1);
}
for (const answer of answers.value)
  if (answer.kind === 'labels') console.log(`${answer.label} ${answer.score.toFixed(4)}`);
