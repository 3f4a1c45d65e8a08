import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Random } from '../../../../src/random.js';
import {
  type BertTokenizerJson,
  trainWordPiece,
  vocabularyTokenizer,
} from '../../../../src/tokenizer/index.js';
import { MeasuredTexts } from '../corpus/measured-texts.js';
import { readSource } from '../corpus/text-source.js';
import { SEED } from '../settings.js';
import type { WorkFolder } from '../work-folder.js';
import { measuredTexts, sources } from './sources.js';

const VOCABULARY_SIZE = 16_000;

/**
 * Trains the vocabulary as a job on Japanese texts does: each Han character is a word, and so is each run of
 * other letters between Han characters and punctuation.
 */
export function makeVocabulary(work: WorkFolder, datasets: string): void {
  const options = {
    datasets,
    measured: new MeasuredTexts(measuredTexts(datasets)),
    random: Random.fromSeed(SEED),
  };
  const sentences = sources.flatMap((source) => [...readSource(source, options)].flat());
  const { model } = trainWordPiece(sentences, {
    vocabularySize: VOCABULARY_SIZE,
    lowercase: true,
    language: 'japanese',
  });
  const pieces = Object.entries(model.vocab).sort(([, a], [, b]) => a - b);
  writeFileSync(work.vocabulary, `${pieces.map(([piece]) => piece).join('\n')}\n`);
  console.log(`${pieces.length} pieces in ${work.vocabulary}`);
}

/** The tokenizer with the vocabulary that {@link makeVocabulary} wrote. */
export function japaneseTokenizer(work: WorkFolder): BertTokenizerJson {
  if (!existsSync(work.vocabulary)) {
    throw new Error(`no ${work.vocabulary}; run the step "vocabulary" first`);
  }
  const options = { do_lower_case: true, strip_accents: false };
  return vocabularyTokenizer(readFileSync(work.vocabulary, 'utf8'), options);
}
