import { writeFileSync } from 'node:fs';
import { Random } from '../../../../src/system/index.js';
import { SEED } from '../settings.js';
import type { WorkFolder } from '../work-folder.js';
import { type SourceRecord, writeCorpusRecord } from './corpus-record.js';
import { requireLicence } from './licences.js';
import { foldText, MeasuredTexts } from './measured-texts.js';
import { type ReadingOptions, readSource, type TextSource } from './text-source.js';

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
 * Writes every example that may be trained on, one per line, in random order, and beside them what they were
 * made of. The same datasets give the same files.
 * @throws Error before anything is read if a source has no licence that allows it.
 */
export async function writeCorpus(work: WorkFolder, options: CorpusOptions): Promise<void> {
  const { datasets, sources, measured, examples } = options;
  for (const source of sources) requireLicence(source);
  const random = Random.fromSeed(SEED);
  const reading = { datasets, measured: new MeasuredTexts(measured), random };
  const lines = new NewLines();
  const records: SourceRecord[] = [];
  for (const source of sources) {
    const record = await readAll(source, reading, (sentences) => lines.add(examples(sentences, random)));
    records.push(record);
    console.log(`${record.name}: ${record.examples} examples (${record.licence})`);
  }
  writeFileSync(work.passages, `${random.shuffle(lines.all).join('\n')}\n`);
  writeCorpusRecord(work.corpusRecord, { sources: records, examples: lines.all.length });
  console.log(`${lines.all.length} examples in ${work.passages}`);
}

interface Added {
  readonly examples: number;
  readonly characters: number;
}

async function readAll(
  source: TextSource,
  reading: ReadingOptions,
  add: (sentences: readonly string[]) => Added,
): Promise<SourceRecord> {
  const { name, licence, credit } = source;
  let [documents, examples, characters] = [0, 0, 0];
  for await (const sentences of readSource(source, reading)) {
    const added = add(sentences);
    documents += 1;
    examples += added.examples;
    characters += added.characters;
  }
  return { name, licence, credit, documents, examples, characters };
}

/** Lines without those that came before, whatever their case, spacing and punctuation. */
class NewLines {
  readonly all: string[] = [];
  readonly #seen = new Set<string>();

  add(lines: Iterable<string>): Added {
    let [examples, characters] = [0, 0];
    for (const line of lines) {
      const folded = foldText(line);
      if (this.#seen.has(folded)) continue;
      this.#seen.add(folded);
      this.all.push(line);
      examples += 1;
      characters += line.length;
    }
    return { examples, characters };
  }
}
