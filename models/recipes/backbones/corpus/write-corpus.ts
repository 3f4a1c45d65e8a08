import { writeFileSync } from 'node:fs';
import { Random } from '../../../../src/random.js';
import { SEED } from '../settings.js';
import type { WorkFolder } from '../work-folder.js';
import { foldText, MeasuredTexts } from './measured-texts.js';
import { readSource, type TextSource } from './text-source.js';

export interface CorpusOptions {
  /** The folder that holds every dataset. */
  readonly datasets: string;
  readonly sources: readonly TextSource[];
  /** Texts that models are measured on. */
  readonly measured: Iterable<string>;
  /** Makes training examples of one document, each one line. */
  readonly examples: (sentences: readonly string[], random: Random) => Iterable<string>;
}

/**
 * Writes every example that may be trained on, one per line, in random order. The same datasets give the same
 * file.
 */
export function writeCorpus(
  work: WorkFolder,
  { datasets, sources, measured, examples }: CorpusOptions,
): void {
  const random = Random.fromSeed(SEED);
  const options = { datasets, measured: new MeasuredTexts(measured), random };
  const seen = new Set<string>();
  const lines: string[] = [];
  for (const source of sources) {
    const before = lines.length;
    for (const sentences of readSource(source, options)) {
      for (const line of examples(sentences, random)) {
        const folded = foldText(line);
        if (seen.has(folded)) continue;
        seen.add(folded);
        lines.push(line);
      }
    }
    console.log(`${source.name}: ${lines.length - before} examples`);
  }
  writeFileSync(work.passages, `${random.shuffle(lines).join('\n')}\n`);
  console.log(`${lines.length} examples in ${work.passages}`);
}
