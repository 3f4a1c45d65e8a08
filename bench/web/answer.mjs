/**
 * Opens a model for the web and prints its first answer: `answer.mjs <orchard-nlp/web> <model file> <text> [memory]`. With
 * `memory`, also the bytes of memory that the process has more than before, after some answers.
 */
import process from 'node:process';
import { pathToFileURL } from 'node:url';

const [entry, file, text, memory] = process.argv.slice(2);
const { openModel } = await import(pathToFileURL(entry).href);
const collect = () => {
  for (let time = 0; time < 3; time += 1) globalThis.gc?.();
};
collect();
const before = process.memoryUsage().rss;
const opened = await openModel(file);
if (opened.isErr()) throw opened.error;
const model = opened.value;
const answer = await model.predict(text);
if (answer.isErr()) throw answer.error;
if (memory === undefined) console.log(JSON.stringify(answer.value));
else {
  for (let asked = 0; asked < 20; asked += 1) await model.predict(text);
  collect();
  console.log(JSON.stringify({ bytes: process.memoryUsage().rss - before }));
}
