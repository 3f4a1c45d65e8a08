import { Random } from '../random.js';

export interface LengthBatchOptions {
  /** Most rows of a batch. */
  readonly batchSize: number;
  /** 32-bit integer; together with the epoch it decides the order. */
  readonly seed: number;
  /** Counted from 0. */
  readonly epoch: number;
}

/** Rows are sorted by length within chunks of this many batches: little padding, but still a random mix. */
const BATCHES_PER_CHUNK = 20;

/**
 * The batches of one epoch: rows are shuffled, sorted by length within chunks of 20 batches and cut into
 * batches, whose order is shuffled again. Every row occurs exactly once; the same arguments give the same
 * batches.
 * @param lengths length of each row in tokens.
 * @returns row indices, batch by batch.
 * @throws RangeError if the batch size is below 1.
 */
export function lengthBatches(
  lengths: readonly number[],
  { batchSize, seed, epoch }: LengthBatchOptions,
): number[][] {
  if (!(batchSize >= 1)) throw new RangeError(`batchSize ${batchSize}: it must be 1 or more`);
  const random = Random.fromSeed(seed, epoch);
  const order = random.shuffle(lengths.map((length, row) => ({ row, length })));
  const batches: number[][] = [];
  for (let start = 0; start < order.length; start += batchSize * BATCHES_PER_CHUNK) {
    const chunk = order.slice(start, start + batchSize * BATCHES_PER_CHUNK);
    chunk.sort((a, b) => a.length - b.length);
    for (let at = 0; at < chunk.length; at += batchSize) {
      batches.push(chunk.slice(at, at + batchSize).map(({ row }) => row));
    }
  }
  return random.shuffle(batches);
}
