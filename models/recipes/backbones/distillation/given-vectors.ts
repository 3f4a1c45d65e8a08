import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeSafetensors } from '../../../../src/models/index.js';
import { replaceFile } from '../../../../src/system/index.js';
import type { Tokenizer } from '../../../../src/text/index.js';
import { MAX_PASSAGE_TOKENS, targetSettings } from '../settings.js';
import { MeanSums } from './spread.js';
import type { TargetFolder, TeacherRecord } from './target-folder.js';
import { writeTargetIndex } from './target-index.js';
import { rowBytes, writeRow } from './target-rows.js';

/** The file of a teacher that another program runs: `vectors` [passages, width], in the order of the corpus. */
const VECTORS_FILE = 'vectors.safetensors';
const TRACK = 'last';

/** Vectors of the first passages, one for each. */
export interface GivenVectors {
  readonly width: number;
  readonly count: number;
  vector(passage: number): Float32Array;
}

/** @returns undefined if the teacher's folder has none. @throws Error if the file has other tensors. */
export function givenVectors(teacher: string): GivenVectors | undefined {
  const file = join(teacher, VECTORS_FILE);
  if (!existsSync(file)) return undefined;
  const found = decodeSafetensors(readFileSync(file), file).tensors.get('vectors');
  const [count, width] = found?.shape ?? [];
  if (found === undefined || count === undefined || width === undefined)
    throw new Error(`${file}: it has no tensor "vectors" [passages, width]`);
  return { width, count, vector: (at) => found.values.subarray(at * width, (at + 1) * width) };
}

/**
 * Stores vectors of passages as targets, without their mean: a row for each passage, and none for spans.
 * @param passages those to store vectors of, rounded up to whole shards.
 * @throws Error if there are too few vectors, or the folder has targets of another teacher or corpus.
 */
export async function storeVectors(
  folder: TargetFolder,
  record: TeacherRecord,
  vectors: GivenVectors,
  passages: readonly string[],
  { student, count }: { readonly student: Tokenizer; readonly count: number },
): Promise<void> {
  const { shardTexts, meanTexts } = targetSettings;
  const total = Math.ceil(Math.min(count, passages.length) / shardTexts);
  const wanted = Math.min(total * shardTexts, passages.length);
  if (vectors.count < wanted) {
    throw new Error(`${record.name} has vectors of ${vectors.count} passages, and not of ${wanted}`);
  }
  await folder.claim(record);
  const sums = new MeanSums(vectors.width);
  for (let at = 0; at < Math.min(meanTexts, vectors.count); at += 1) sums.add(true, vectors.vector(at));
  const means = sums.means();
  await folder.storeMeans(TRACK, means);
  console.log(`${TRACK}: ${sums.told()}`);
  for (let shard = 0; shard < total; shard += 1) {
    const first = shard * shardTexts;
    const texts = passages.slice(first, first + shardTexts);
    const rows = Buffer.alloc(texts.length * rowBytes(vectors.width));
    for (const at of texts.keys()) {
      const vector = vectors.vector(first + at);
      writeRow(
        rows,
        at,
        vector.map((value, i) => value - (means.passages[i] ?? 0)),
      );
    }
    await replaceFile(folder.rowsFile(shard, TRACK), rows);
    const read = texts.map((text) => student.encode(text, { maxLength: MAX_PASSAGE_TOKENS }).ids);
    await writeTargetIndex(
      folder.indexFile(shard),
      read.map((ids) => ({ ids, spans: [] })),
    );
  }
}
