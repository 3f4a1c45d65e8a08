import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

const sourceSchema = z.strictObject({
  name: z.string(),
  licence: z.string(),
  credit: z.string(),
  /** Documents read, examples made of them that are new, and those examples' characters. */
  documents: z.int(),
  examples: z.int(),
  characters: z.int(),
});

/** What a corpus is made of, source by source; the data sheet is written from it. */
const corpusSchema = z.strictObject({ sources: z.array(sourceSchema), examples: z.int() });
export type CorpusRecord = z.infer<typeof corpusSchema>;
export type SourceRecord = CorpusRecord['sources'][number];

export function writeCorpusRecord(file: string, record: CorpusRecord): void {
  writeFileSync(file, `${JSON.stringify(record, undefined, 2)}\n`);
}

/** @returns undefined if the corpus was written by an older recipe, without one. */
export function readCorpusRecord(file: string): CorpusRecord | undefined {
  if (!existsSync(file)) return undefined;
  return corpusSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
}
