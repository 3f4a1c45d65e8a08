import { F32 } from './lanes';
import { findHash, spread } from './number-hashes';

/** Bytes of one i32. */
const I32: usize = 4;

/** Math.log, so that weights are the same to the bit as in JavaScript; V8 calls no JavaScript for it. */
@external('env', 'log')
declare function log(value: f64): f64;

/**
 * Looks up hashes in a table that `numberHashes` filled. Counts those that it has in counts[number], and appends the
 * numbers whose count was 0 to `ids` from `end` on. Shapes: given, starts (scratch) [count]; counts [numbers].
 * Returns the new end of `ids`.
 */
export function countFeatures(
  hashes: usize,
  slots: usize,
  mask: u32,
  numbers: u32,
  given: usize,
  starts: usize,
  count: u32,
  counts: usize,
  ids: usize,
  end: u32,
): u32 {
  const size = <usize>count * I32;
  // A loop without branches, so that waits for memory overlap.
  for (let at: usize = 0; at < size; at += I32) {
    store<u32>(starts + at, load<u32>(slots + <usize>(spread(load<u32>(given + at)) & mask) * I32));
  }
  for (let at: usize = 0; at < size; at += I32) {
    const number = findHash(load<u32>(given + at), load<u32>(starts + at), hashes, slots, mask, numbers);
    if (number == 0) continue;
    const place = counts + <usize>(number - 1) * I32;
    const before = load<u32>(place);
    store<u32>(place, before + 1);
    if (before > 0) continue;
    store<u32>(ids + <usize>end * I32, number - 1);
    end++;
  }
  return end;
}

/**
 * values[i] = (1 + ln counts[ids[i]]) · weights[ids[i]] for i in [first, end), scaled to a length of 1. Sets
 * the counts to 0. Returns their sum.
 */
export function weighFeatures(
  ids: usize,
  first: u32,
  end: u32,
  counts: usize,
  weights: usize,
  values: usize,
): u32 {
  let all: u32 = 0;
  let squares: f64 = 0;
  for (let at = first; at < end; at++) {
    const id = <usize>load<u32>(ids + <usize>at * I32);
    const count = load<u32>(counts + id * I32);
    const factor = count == 1 ? 1 : 1 + log(<f64>count);
    const value = factor * <f64>load<f32>(weights + id * F32);
    store<u32>(counts + id * I32, 0);
    store<f32>(values + <usize>at * F32, <f32>value);
    squares += value * value;
    all += count;
  }
  const scale = squares > 0 ? 1 / sqrt(squares) : 0;
  for (let at = first; at < end; at++) {
    const place = values + <usize>at * F32;
    store<f32>(place, <f32>(<f64>load<f32>(place) * scale));
  }
  return all;
}

/**
 * Replaces the hashes of each bag by the numbers of those that a table has, and moves the starts of the bags. Shapes:
 * given [starts[bags]], starts [bags + 1]; ids [given], first used as scratch.
 */
export function findBags(
  hashes: usize,
  slots: usize,
  mask: u32,
  numbers: u32,
  given: usize,
  starts: usize,
  bags: i32,
  ids: usize,
): void {
  const size = <usize>load<u32>(starts + <usize>bags * I32) * I32;
  // A loop without branches, so that waits for memory overlap.
  for (let at: usize = 0; at < size; at += I32) {
    store<u32>(ids + at, load<u32>(slots + <usize>(spread(load<u32>(given + at)) & mask) * I32));
  }
  let end: usize = 0;
  let at: usize = 0;
  for (let bag = 0; bag < bags; bag++) {
    starts += I32;
    const stop = <usize>load<u32>(starts) * I32;
    for (; at < stop; at += I32) {
      const number = findHash(load<u32>(given + at), load<u32>(ids + at), hashes, slots, mask, numbers);
      if (number == 0) continue;
      store<u32>(ids + end, number - 1);
      end += I32;
    }
    store<u32>(starts, <u32>(end / I32));
  }
}
