/** Bytes of one i32. */
const I32: usize = 4;

/** Spreads the bits of a hash; as in src/lexical/hash-table.ts. */
@inline
export function spread(hash: u32): u32 {
  return (hash ^ (hash >>> 16)) * 0x85ebca6b;
}

/**
 * Open addressing with linear probing. A slot holds a number plus one in its lowest bits, `numbers` being their mask, and
 * the spread hash in the others: a search seldom reads another hash. Shapes: hashes [count], slots [mask + 1], zeros.
 * Stops where a hash takes more than `most` steps, or all take more than `most` + `mean` each.
 * Returns how many different hashes have slots.
 */
export function numberHashes(
  hashes: usize,
  count: u32,
  slots: usize,
  mask: u32,
  numbers: u32,
  most: u32,
  mean: u32,
): u32 {
  let steps: u64 = <u64>most + <u64>mean * count;
  let distinct: u32 = 0;
  for (let at: u32 = 0; at < count; at++) {
    const hash = load<u32>(hashes + <usize>at * I32);
    const bits = spread(hash);
    const tag = bits & ~numbers;
    let slot = bits & mask;
    let held = load<u32>(slots + <usize>slot * I32);
    let isRepeated = false;
    while (held != 0) {
      if ((held & ~numbers) == tag && load<u32>(hashes + <usize>((held & numbers) - 1) * I32) == hash) {
        isRepeated = true;
        break;
      }
      slot = (slot + 1) & mask;
      held = load<u32>(slots + <usize>slot * I32);
      if (steps-- == 0) return distinct;
    }
    if (((slot - bits) & mask) > most) return distinct;
    if (isRepeated) continue;
    store<u32>(slots + <usize>slot * I32, tag | (at + 1));
    distinct++;
  }
  return distinct;
}

/** The number of a hash plus one, or 0. @param held what the slot has where its search starts */
@inline
export function findHash(hash: u32, held: u32, hashes: usize, slots: usize, mask: u32, numbers: u32): u32 {
  const bits = spread(hash);
  let slot = bits & mask;
  while (held != 0) {
    const number = held & numbers;
    if (((held ^ bits) & ~numbers) == 0 && load<u32>(hashes + <usize>(number - 1) * I32) == hash) return number;
    slot = (slot + 1) & mask;
    held = load<u32>(slots + <usize>slot * I32);
  }
  return 0;
}
