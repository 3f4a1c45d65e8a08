import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Random } from '../../../../src/system/index.js';
import { type BertTokenizerJson, trainWordPiece, vocabularyTokenizer } from '../../../../src/text/index.js';
import { SEED } from '../settings.js';
import type { WorkFolder } from '../work-folder.js';
import { MeasuredTexts } from './measured-texts.js';
import { readSource, type TextSource } from './text-source.js';

const VOCABULARY_SIZE = 16_000;

export interface VocabularyOptions {
  /** The folder that holds every dataset. */
  readonly datasets: string;
  readonly sources: readonly TextSource[];
  /** Texts that models are measured on. */
  readonly measured: Iterable<string>;
  readonly language: 'english' | 'japanese';
  readonly lowercase: boolean;
}

/** Trains 16,000 pieces on all texts that may be read, as a job on texts of that language does. */
export async function writeVocabulary(work: WorkFolder, options: VocabularyOptions): Promise<void> {
  const { datasets, sources, measured, language, lowercase } = options;
  const reading = { datasets, measured: new MeasuredTexts(measured), random: Random.fromSeed(SEED) };
  const sentences: string[] = [];
  for (const source of sources) {
    for await (const document of readSource(source, reading)) sentences.push(...document);
  }
  const { model } = trainWordPiece(sentences, { vocabularySize: VOCABULARY_SIZE, lowercase, language });
  const pieces = Object.entries(model.vocab).sort(([, a], [, b]) => a - b);
  writeFileSync(work.vocabulary, `${pieces.map(([piece]) => piece).join('\n')}\n`);
  console.log(`${pieces.length} pieces in ${work.vocabulary}`);
}

/** The tokenizer with the vocabulary that {@link writeVocabulary} wrote; accents stay. */
export function writtenVocabulary(work: WorkFolder, lowercase: boolean): BertTokenizerJson {
  if (!existsSync(work.vocabulary)) {
    throw new Error(`no ${work.vocabulary}; run the step "vocabulary" first`);
  }
  const options = { do_lower_case: lowercase, strip_accents: false };
  return vocabularyTokenizer(readFileSync(work.vocabulary, 'utf8'), options);
}
