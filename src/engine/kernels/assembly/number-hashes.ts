/** Bytes of one i32. */
const I32: usize = 4;

/** Where the search for a hash starts, before the mask; as in src/lexical/hash-table.ts. */
@inline
function startOf(hash: u32): u32 {
  return (hash ^ (hash >>> 16)) * 0x85ebca6b;
}

/**
 * Open addressing with linear probing: writes the number of each hash plus one to its slot. Shapes: hashes [count],
 * slots [mask + 1], zeros. Stops where a hash takes more than `most` steps, or all take more than `most` + `mean` each.
 * Returns how many different hashes have slots.
 */
export function numberHashes(hashes: usize, count: u32, slots: usize, mask: u32, most: u32, mean: u32): u32 {
  const mostSteps = <u64>most + <u64>mean * count;
  let distinct: u32 = 0;
  let steps: u64 = 0;
  for (let at: u32 = 0; at < count; at++) {
    const hash = load<u32>(hashes + <usize>at * I32);
    const first = startOf(hash) & mask;
    let slot = first;
    let number = load<u32>(slots + <usize>slot * I32);
    while (number != 0 && load<u32>(hashes + <usize>(number - 1) * I32) != hash) {
      slot = (slot + 1) & mask;
      number = load<u32>(slots + <usize>slot * I32);
      if (++steps > mostSteps) return distinct;
    }
    if (((slot - first) & mask) > most) return distinct;
    if (number != 0) continue;
    store<u32>(slots + <usize>slot * I32, at + 1);
    distinct++;
  }
  return distinct;
}
