import { createReadStream, createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import { memoryStorage, Predictor } from 'orchard-nlp';

/** Classifies each line of a file: `stream.ts reviews.txt labels.tsv`. */
const [source = 'reviews.txt', target = 'labels.tsv'] = process.argv.slice(2);
const lines = createInterface({ input: createReadStream(source) });

await using predictor = new Predictor({ storage: memoryStorage() });
async function* labelled() {
  for await (const answer of predictor.predictPretrainedStream('sentiment-classification', lines)) {
    if (answer.isErr()) throw answer.error;
    const { labels, scores } = answer.value.data;
    yield `${labels[0]}\t${scores[0]?.toFixed(3)}\n`;
  }
}
await pipeline(labelled, createWriteStream(target));
