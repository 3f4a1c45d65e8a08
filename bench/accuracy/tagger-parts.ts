import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Blend } from 'orchard-nlp';
import { bioConstraints } from '../../src/families/grapefruit/bio-constraints.js';
import { SequenceDecoder, tagEvidence } from '../../src/families/grapefruit/sequence-decoder.js';
import { sentencePlaces, sentenceText, wordOutputs } from '../../src/families/grapefruit/word-pieces.js';
import { TextModel } from '../../src/inference/text-model.js';
import { CrfExpert } from '../../src/lexical/index.js';
import { EXPERT_FILE, openModelFolder } from '../../src/model-folder/index.js';

const BATCH = 256;

/** Tags of sentences whose words are given, with the two experts of a model mixed by these weights. */
export async function tagWith(
  directory: string,
  weights: Blend['blend']['weights'],
  sentences: readonly (readonly string[])[],
): Promise<string[][]> {
  const { labels: tags, lowercase } = (await openModelFolder(directory)).config.orchard;
  const file = join(directory, EXPERT_FILE);
  const expert = CrfExpert.decode(readFileSync(file), file);
  const decoder = new SequenceDecoder(tags, bioConstraints(tags), expert.transitions, weights);
  const model = await TextModel.load(directory, 2);
  const tagged: string[][] = [];
  for (let start = 0; start < sentences.length; start += BATCH) {
    const some = sentences.slice(start, start + BATCH);
    const encoded = await model.encode(some.map(sentenceText));
    for (const [row, words] of some.entries()) {
      const places = sentencePlaces(words);
      const logits = wordOutputs(encoded[row] ?? [], places, tags.length);
      tagged.push(decoder.tagsOf(tagEvidence(places, logits, tags.length, expert, lowercase)));
    }
  }
  await model.release();
  return tagged;
}
