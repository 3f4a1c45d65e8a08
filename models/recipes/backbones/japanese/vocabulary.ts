import type { BertTokenizerJson } from '../../../../src/text/index.js';
import { writeVocabulary, writtenVocabulary } from '../corpus/vocabulary.js';
import type { WorkFolder } from '../work-folder.js';
import { measuredTexts, sources } from './sources.js';

/** Each Han character is a word, and so is each run of other letters between Han characters and punctuation. */
export function makeVocabulary(work: WorkFolder, datasets: string): Promise<void> {
  const measured = measuredTexts(datasets);
  return writeVocabulary(work, { datasets, sources, measured, language: 'japanese', lowercase: true });
}

/** The tokenizer with the vocabulary that {@link makeVocabulary} wrote. */
export const japaneseTokenizer = (work: WorkFolder): BertTokenizerJson => writtenVocabulary(work, true);
