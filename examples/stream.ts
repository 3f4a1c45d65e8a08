import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { lines, memoryStorage, Predictor } from 'orchard-nlp';

/** Classifies each line of a file: `stream.ts reviews.txt labels.tsv`. */
const [source = 'reviews.txt', target = 'labels.tsv'] = process.argv.slice(2);
const texts = lines(createReadStream(source));

await using predictor = new Predictor({ storage: memoryStorage() });
async function* labelled() {
  for await (const answer of predictor.predictPretrainedStream('emotion-detection', texts)) {
    if (answer.isErr()) throw answer.error;
    const { labels, scores } = answer.value.data;
    yield `${labels[0]}\t${scores[0]?.toFixed(3)}\n`;
  }
}
await pipeline(labelled, createWriteStream(target));
