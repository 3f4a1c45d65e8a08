import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { memoryStorage, Predictor } from 'orchard-nlp';

/** Classifies each line of a file: `stream.ts reviews.txt labels.tsv`. */
const [source = 'reviews.txt', target = 'labels.tsv'] = process.argv.slice(2);

/** Not with node:readline, which also ends lines at U+2028 from Node.js 24 on. */
async function* lines() {
  let rest = '';
  for await (const piece of createReadStream(source, 'utf8')) {
    const whole = `${rest}${piece}`.split(/\r?\n/);
    rest = whole.pop() ?? '';
    yield* whole;
  }
  if (rest !== '') yield rest;
}

await using predictor = new Predictor({ storage: memoryStorage() });
async function* labelled() {
  for await (const answer of predictor.predictPretrainedStream('sentiment-classification', lines())) {
    if (answer.isErr()) throw answer.error;
    const { labels, scores } = answer.value.data;
    yield `${labels[0]}\t${scores[0]?.toFixed(3)}\n`;
  }
}
await pipeline(labelled, createWriteStream(target));
