import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { replaceFile } from '../../../../src/system/index.js';
import { targetSettings } from '../settings.js';
import type { Teacher, TokenStates } from './load-teacher.js';
import { MeanSums } from './spread.js';
import type { Means, TargetFolder, TeacherRecord } from './target-folder.js';
import { writeTargetIndex } from './target-index.js';
import { meanOver, type ReadingRules, type ReadText, readText, targetRows } from './text-targets.js';
import { isCentred, type Track } from './track.js';

const { shardTexts, meanTexts, batchTokens } = targetSettings;

/** Every `of`-th shard from `part` on (counted from 1), so that several processes share the work. */
export interface ShardsOf {
  readonly part: number;
  readonly of: number;
}

export interface TargetsOptions {
  readonly teacher: Teacher;
  readonly rules: ReadingRules;
  readonly tracks: readonly Track[];
  /** Passages to compute targets for, from the first on; rounded up to whole shards. */
  readonly count: number;
  readonly shards: ShardsOf;
}

/** `2/3` is the second of three parts. @throws Error */
export function shardsOf(written: string): ShardsOf {
  const [, part, of] = /^(\d+)\/(\d+)$/u.exec(written) ?? [];
  const parsed = { part: Number(part), of: Number(of) };
  if (parsed.part >= 1 && parsed.part <= parsed.of) return parsed;
  throw new Error(`"${written}" is no part of the shards; 1/2 and 2/2 are halves`);
}

/** Of what the rows are, for a record. */
export const fileHash = (file: string): string => textHash(readFileSync(file));
export const textHash = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex');

/**
 * Computes and stores a teacher's targets for the first passages. What a shard has already is kept, so that a
 * stopped computation is resumed, and tracks can be added later.
 * @throws Error if the folder has targets of another teacher or corpus.
 */
export async function computeTargets(
  folder: TargetFolder,
  record: TeacherRecord,
  passages: readonly string[],
  options: TargetsOptions,
): Promise<void> {
  const { tracks, count, shards } = options;
  await folder.claim(record);
  const means = await trackMeans(folder, passages, options);
  const total = Math.ceil(Math.min(count, passages.length) / shardTexts);
  for (let shard = shards.part - 1; shard < total; shard += shards.of) {
    const missing = folder.missing(shard, tracks);
    if (missing.length === 0) continue;
    const startedAt = performance.now();
    const texts = passages.slice(shard * shardTexts, (shard + 1) * shardTexts);
    const tokens = await computeShard(folder, shard, missing, texts, means, options);
    const seconds = (performance.now() - startedAt) / 1000;
    console.log(`shard ${shard + 1} of ${total}: ${missing.join(', ')}, ${(tokens / seconds).toFixed(0)} tokens/s`);
  }
}

/** @returns the student's tokens. */
async function computeShard(
  folder: TargetFolder,
  shard: number,
  tracks: readonly Track[],
  texts: readonly string[],
  means: ReadonlyMap<Track, Means>,
  { teacher, rules }: TargetsOptions,
): Promise<number> {
  const read = texts.map((text) => readText(text, rules));
  const rows = new Map(tracks.map((track) => [track, new Array<Buffer>(read.length)]));
  await teach(teacher, read, (states, row, place, text) => {
    for (const [track, all] of rows) {
      all[place] = targetRows(text, row, states, track, teacher.width, means.get(track));
    }
  });
  for (const [track, all] of rows) {
    const file = folder.rowsFile(shard, track);
    await replaceFile(file, Buffer.concat(all), { draft: `${file}.${process.pid}.draft` });
  }
  await writeTargetIndex(
    folder.indexFile(shard),
    read.map(({ learned, spans }) => ({ ids: learned.ids, spans })),
  );
  return read.reduce((sum, { learned }) => sum + learned.ids.length, 0);
}

/** Has the teacher read all texts, those of about the same length at once. */
async function teach(
  teacher: Teacher,
  texts: readonly ReadText[],
  take: (states: TokenStates, row: number, place: number, text: ReadText) => void,
): Promise<void> {
  const sorted = [...texts.entries()].sort(([, a], [, b]) => a.taught.ids.length - b.taught.ids.length);
  for (let start = 0; start < sorted.length; ) {
    let end = start + 1;
    while (end < sorted.length && (end + 1 - start) * (sorted[end]?.[1].taught.ids.length ?? 0) <= batchTokens)
      end += 1;
    const batch = sorted.slice(start, end);
    const states = await teacher.states(batch.map(([, { taught }]) => taught));
    for (const [row, [place, text]] of batch.entries()) take(states, row, place, text);
    start = end;
  }
}

/** The means that are taken out of the tracks of hidden states; those that are missing are computed and stored. */
async function trackMeans(
  folder: TargetFolder,
  passages: readonly string[],
  options: TargetsOptions,
): Promise<ReadonlyMap<Track, Means>> {
  const centred = options.tracks.filter(isCentred);
  const missing = centred.filter((track) => folder.means(track) === undefined);
  if (missing.length > 0) await storeMeans(folder, passages.slice(0, meanTexts), missing, options);
  const means = new Map<Track, Means>();
  for (const track of centred) {
    const stored = folder.means(track);
    if (stored !== undefined) means.set(track, stored);
  }
  return means;
}

async function storeMeans(
  folder: TargetFolder,
  passages: readonly string[],
  tracks: readonly Track[],
  { teacher, rules }: TargetsOptions,
): Promise<void> {
  const texts = passages.map((text) => readText(text, rules));
  const sums = new Map(tracks.map((track) => [track, new MeanSums(teacher.width)]));
  const mean = new Float32Array(teacher.width);
  await teach(teacher, texts, (states, row, _, { ranges }) => {
    for (const [track, sum] of sums) {
      for (const [at, range] of ranges.entries()) {
        meanOver(states, track, row, range, mean);
        sum.add(at === 0, mean);
      }
    }
  });
  for (const [track, sum] of sums) {
    await folder.storeMeans(track, sum.means());
    console.log(`${track}: ${sum.told()}`);
  }
}
