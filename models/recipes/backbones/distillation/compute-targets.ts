import { existsSync } from 'node:fs';
import type { Encoding, Tokenizer } from '../../../../src/tokenizer/index.js';
import { quantizeVector } from '../../../../src/vector-index/index.js';
import { MAX_PASSAGE_TOKENS } from '../settings.js';
import type { WorkFolder } from '../work-folder.js';
import { alignedSpans } from './aligned-spans.js';
import type { Teacher, TokenStates } from './load-teacher.js';
import { type TextTargets, writeTargetShard } from './target-shard.js';

/** Passages per file of targets; no more are lost when the computation is stopped. */
const SHARD_TEXTS = 4096;
/** Passages of similar length that the teacher reads at once. */
const BATCH_TEXTS = 32;

/**
 * Computes and stores the teacher's targets for the first passages of the corpus. Existing files are kept, so
 * a stopped computation is resumed.
 * @param count how many passages, rounded up to whole files.
 */
export async function computeTargets(
  work: WorkFolder,
  teacher: Teacher,
  student: Tokenizer,
  count: number,
): Promise<void> {
  const passages = work.readPassages();
  const shards = Math.ceil(Math.min(count, passages.length) / SHARD_TEXTS);
  for (let shard = 0; shard < shards; shard += 1) {
    const file = work.targetShard(shard);
    if (existsSync(file)) continue;
    const startedAt = performance.now();
    const texts = passages.slice(shard * SHARD_TEXTS, (shard + 1) * SHARD_TEXTS);
    const targets = await shardTargets(texts, teacher, student);
    await writeTargetShard(file, targets, teacher.width);
    const tokens = targets.reduce((sum, { ids }) => sum + ids.length, 0);
    const seconds = (performance.now() - startedAt) / 1000;
    console.log(`shard ${shard + 1} of ${shards}: ${(tokens / seconds).toFixed(0)} tokens/s`);
  }
}

interface Pair {
  readonly place: number;
  readonly taught: Encoding;
  readonly learned: Encoding;
}

async function shardTargets(
  texts: readonly string[],
  teacher: Teacher,
  student: Tokenizer,
): Promise<TextTargets[]> {
  const pairs = texts.map(
    (text, place): Pair => ({
      place,
      taught: teacher.tokenizer.encode(text),
      learned: student.encode(text, { maxLength: MAX_PASSAGE_TOKENS }),
    }),
  );
  pairs.sort((a, b) => a.taught.ids.length - b.taught.ids.length);
  const targets: TextTargets[] = [];
  for (let start = 0; start < pairs.length; start += BATCH_TEXTS) {
    const batch = pairs.slice(start, start + BATCH_TEXTS);
    const states = await teacher.states(batch.map(({ taught }) => taught));
    for (const [row, pair] of batch.entries()) {
      targets[pair.place] = textTargets(pair, row, states, teacher.width);
    }
  }
  return targets;
}

/**
 * The mean of the teacher's hidden states over the whole passage, and over each span that both tokenizers
 * see.
 */
function textTargets(
  { taught, learned }: Pair,
  row: number,
  states: TokenStates,
  width: number,
): TextTargets {
  const spans = alignedSpans(taught, learned);
  const ranges = [{ start: 0, end: taught.ids.length }, ...spans.map(({ first }) => first)];
  const vectors = new Int8Array(ranges.length * width);
  for (const [at, { start, end }] of ranges.entries()) {
    const sum = new Float32Array(width);
    for (let token = start; token < end; token += 1) {
      const from = (token * states.batch + row) * width;
      for (let i = 0; i < width; i += 1) sum[i] = (sum[i] ?? 0) + (states.values[from + i] ?? 0);
    }
    quantizeVector(sum, vectors.subarray(at * width, (at + 1) * width));
  }
  return { ids: learned.ids, spans: spans.map(({ second }) => second), vectors };
}
