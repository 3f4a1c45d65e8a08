import { Random } from '../random.js';

export interface LengthBatchOptions {
  /** Rows a batch, at most. */
  readonly batchSize: number;
  /** 32-bit integer: with the epoch, decides the order. */
  readonly seed: number;
  /** Counted from 0. */
  readonly epoch: number;
  /** At most this many tokens a batch, padding included; a longer row makes a batch of its own. Default: no bound. */
  readonly maxPaddedTokens?: number;
}

/** Rows are sorted by length among this many batches' worth of them: little padding, and still a random mix. */
const BATCHES_PER_CHUNK = 20;

/**
 * The batches of one epoch: rows are shuffled, sorted by length within chunks of 20 batches, cut, and the batches
 * shuffled. Every row comes exactly once; the same arguments give the same batches. With `maxPaddedTokens` the number
 * of batches can differ from epoch to epoch.
 * @param lengths tokens of each row.
 * @returns row numbers, batch by batch.
 * @throws RangeError where the batch size is below 1.
 */
export function lengthBatches(
  lengths: readonly number[],
  { batchSize, seed, epoch, maxPaddedTokens = Number.POSITIVE_INFINITY }: LengthBatchOptions,
): number[][] {
  if (!(batchSize >= 1)) throw new RangeError(`batchSize ${batchSize}: it must be 1 or more`);
  const random = Random.fromSeed(seed, epoch);
  const order = random.shuffle(lengths.map((length, row) => ({ row, length })));
  const batches: number[][] = [];
  for (let start = 0; start < order.length; start += batchSize * BATCHES_PER_CHUNK) {
    const chunk = order.slice(start, start + batchSize * BATCHES_PER_CHUNK);
    chunk.sort((a, b) => a.length - b.length);
    batches.push(...cut(chunk, batchSize, maxPaddedTokens));
  }
  return random.shuffle(batches);
}

interface Row {
  readonly row: number;
  readonly length: number;
}

/** Cuts rows of ascending length into batches as full as the two bounds allow. */
function cut(rows: readonly Row[], batchSize: number, maxPaddedTokens: number): number[][] {
  const batches: number[][] = [];
  let batch: number[] = [];
  for (const { row, length } of rows) {
    // Ascending, so that this row is the longest so far and decides what the batch is padded to.
    const full = batch.length === batchSize || (batch.length + 1) * length > maxPaddedTokens;
    if (full && batch.length > 0) {
      batches.push(batch);
      batch = [];
    }
    batch.push(row);
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}
