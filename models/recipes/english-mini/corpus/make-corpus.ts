import { writeFileSync } from 'node:fs';
import { Random } from '../../../../src/random.js';
import { englishTokenizer, loadTokenizer, type Tokenizer } from '../../../../src/tokenizer/index.js';
import { SEED } from '../settings.js';
import type { WorkFolder } from '../work-folder.js';
import { foldText, MeasuredTexts, measuredTexts } from './measured-texts.js';
import { passagesOf } from './passages.js';
import { sentencesOf } from './sentences.js';
import { sources, type TextSource } from './sources.js';

/**
 * Writes every passage that may be learned from, one a line, in random order. The same datasets give the same file.
 * @param datasets the folder that holds every dataset.
 */
export function makeCorpus(datasets: string, work: WorkFolder): void {
  const tokenizer = loadTokenizer(englishTokenizer())._unsafeUnwrap();
  const measured = new MeasuredTexts(measuredTexts(datasets));
  const random = Random.fromSeed(SEED);
  const seen = new Set<string>();
  const passages: string[] = [];
  for (const source of sources) {
    const before = passages.length;
    for (const passage of sourcePassages(source, datasets, { tokenizer, measured, random })) {
      const folded = foldText(passage);
      if (seen.has(folded)) continue;
      seen.add(folded);
      passages.push(passage);
    }
    console.log(`${source.name}: ${passages.length - before} passages`);
  }
  writeFileSync(work.passages, `${random.shuffle(passages).join('\n')}\n`);
  console.log(`${passages.length} passages in ${work.passages}`);
}

interface PassageOptions {
  readonly tokenizer: Tokenizer;
  readonly measured: MeasuredTexts;
  readonly random: Random;
}

function* sourcePassages(
  { documents, maxCharacters = Number.POSITIVE_INFINITY }: TextSource,
  datasets: string,
  { tokenizer, measured, random }: PassageOptions,
): Generator<string> {
  let taken = 0;
  for (const document of random.shuffle(documents(datasets))) {
    if (taken >= maxCharacters) return;
    taken += document.length;
    if (measured.has(document)) continue;
    const sentences = sentencesOf(document).filter((sentence) => !measured.has(sentence));
    yield* passagesOf(sentences, tokenizer, random);
  }
}
